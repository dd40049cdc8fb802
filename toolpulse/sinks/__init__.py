"""Where drift events go. A sink is any object with ``emit(event)``."""
