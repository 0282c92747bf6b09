"""The generated vocabulary: one class for each control, command and struct; codes and rules."""
