"""Words that say nothing about what a note is about."""

from __future__ import annotations

_ENGLISH = """
a an the i me my mine myself we us our ours you your yours he him his she her hers it its itself
they them their theirs this that these those

what which who whom whose when where why how whether

am is are was were be been being do does did doing done have has had having get gets got
can could may might must shall should will would let

of in on at by for from to into onto with without about above below under over up down off out per
than then as if and or nor but because so until while during before after between through again

all any both each either every few more most much some such same other only just also too very
even ever else once here there now not no yes own please

s t d m ll re ve don doesn didn isn aren wasn weren won wouldn shouldn couldn
"""  # the last line is what an apostrophe leaves

_CJK = "什么 怎么 怎样 如何 为什 可以 哪里 哪个 多少 是否 です ます ました した いつ どこ"

STOP_WORDS = frozenset(_ENGLISH.split())
STOP_PAIRS = frozenset(_CJK.split())
