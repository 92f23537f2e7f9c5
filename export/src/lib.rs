//! Documents of a bill. Nothing here computes money: what is written down was rounded before it came.
