"""Events as they are declared: classes with fields, which `tools.codegen.events` writes out for `events`."""
