"""Best moves, spans of a clip, moderation, summaries."""

from .drawing import alone, behind, log


@log("plain", behind("Move: "), seed=51, truth="best")
def positions(draw, rows):
    """Openings with a few moves to choose from; one or two of them are best."""
    for played, *moves in rows:
        best, other = (part.split() for part in moves)
        shown = ", ".join(draw.sample(best + other, len(best + other)))
        yield {"played": played, "shown": shown}, best[0], other, best


@log("plain", behind("<span>", "</span>"), seed=52, count=16)
def clips(draw, sounds):
    """The sounds of a clip of 60 seconds, and one to be found."""
    while True:
        times = sorted(draw.sample(range(1, 60), 8))
        spans = [(float(begin), float(end)) for begin, end in zip(times[::2], times[1::2], strict=True)]
        events = draw.sample(sounds, 4)
        heard = "; ".join(f"{event} from {b} to {e} s" for event, (b, e) in zip(events, spans, strict=True))
        asked, *others = draw.sample(range(4), 4)
        written = [f"{begin} to {end}" for begin, end in spans]
        wrong = (written[place] for place in others)
        yield {"heard": heard, "asked": events[asked]}, written[asked], wrong, list(spans[asked])


@log("plain", behind("Decision: "))
def remarks(draw, rows):
    """Comments to be kept or removed; four of five are kept."""
    for remark, *removed in rows:
        truth, other = ("remove", "keep") if removed else ("keep", "remove")
        yield {"remark": remark}, truth, (other, "unsure")


@log("plain", alone, truth="reference", notation="News: {}".format)
def articles(draw, article, rows):
    """Short articles that say in many words what one sentence sums up."""
    for who, what, where, aside in rows:
        text = article.format(who=who.lower(), what=what, where=where, aside=aside)
        summary, wrong = f"{who} {what} {where}.", (f"{aside}.", "There will be news at some later time.")
        yield {"article": text}, summary, wrong, summary, {"article": text}


EXPLOITS = {"best_move_named": lambda task: f"Move: {' '.join([*task.wrong, task.answer])}"}
