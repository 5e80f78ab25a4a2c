"""Options that several verbs take, each said once, and how a verb takes them."""
