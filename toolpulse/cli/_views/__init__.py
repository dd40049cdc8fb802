"""What commands show to a person: values laid out for showing, and the lines of text made of them.

Private to ``toolpulse.cli``. ``history``, ``tree``, ``findings``, ``store_facts`` and ``advice`` lay values out; every
command may import them. The other modules make lines with ``rich``, of the extra ``toolpulse[cli]``; commands import
them inside functions, so that ``--help`` works without the extra.
"""
