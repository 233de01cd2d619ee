"""``openxr-agentic demo``: the whole path, with an agent at the other end.

show          starts app and server, and is the agent
conversation  what the agent asks, and the right answers
app           the app
headless      a headless OpenXR session and its frames
"""
