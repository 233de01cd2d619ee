"""The commands that serve.

options    their options, and what these open
serve      the tools of running apps
run        a command as an app: mock runtime, channel, server
processes  child processes and signals
"""
