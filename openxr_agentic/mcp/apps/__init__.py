"""The apps at the other end: found by their control channels, lost, and found again.

source  what the server needs of them
seeker  looks for running apps
link    one app
fleet   all there are
"""
