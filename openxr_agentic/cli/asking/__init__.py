"""The commands that look at running apps and call their tools.

apps          which apps run
targets       which server or app is asked
client        the official client: connects, asks, withdraws
failures      why there was no answer, in one line
tools         the tools that an agent sees
call          a call and its result
arguments     key=value words as arguments, by the tool's schema
schema_words  schemas in words
"""
