"""The one exception that stays inside export: a picture that cannot be packed."""


class PictureError(Exception):
    """Why one picture cannot be packed; the path is known to the caller."""
