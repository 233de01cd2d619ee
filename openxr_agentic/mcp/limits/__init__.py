"""What agents may do, and what is written down of it.

policy  which tools agents may use
audit   one line for each call
"""
