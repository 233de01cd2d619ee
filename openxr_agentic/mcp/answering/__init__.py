"""What agents are told of tools, and what they get of a call.

options        what whoever starts the server decides
catalogue      the tools as agents see them
schemas        the extension's parameters as a JSON schema
calls          one call, from what a client sent to what it gets
answers        how a call ended, as an MCP result
contents       what a tool's text is: an object, media, or text alone
media          a data URL as an image or a sound
plain_results  results of one text, and failures
json_objects   JSON that can be a part of a message
"""
