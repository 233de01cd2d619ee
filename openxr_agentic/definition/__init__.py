"""From a Python callable to a Tool: signature, docstring, arguments, and the code that calls it."""
