"""Python types as JSON schemas, and as the extension's parameters: `plan` and what it is made of."""
