"""The acceptance scenarios of spec 007 that are built, by their exact titles."""

SPEC = "007-memory"

BUILT = (
    "project memory follows the repository across checkout paths",
    "agent remembers a project fact",
    "agent recalls a project fact",
    "recall spans project and global scope",
    "remembered items are stored in the knowledge lane",
    "remember at global scope",
    "project scope resolves from the agent's working directory",
    "out-of-band fact-file edits are visible on recall",
    "user adds a fact",
    "user corrects a fact out-of-band",
    "user deletes a fact",
    "clear a memory scope",
    "user renames a memory store",
    "built-in memory tools appear in client tool list",
    "vector recall falls back when embedding is unconfigured",
    "agent saves and resumes a working-state handoff",
    "resume reports no handoff for a fresh branch",
    "a topic document recalls at passage granularity",
    "rules bundle is injected at session start as context only",
    "the bundle carries the two seeded built-in rules",
    "a failed or hook-less injection never blocks the agent",
    "disable_native_memory turns native memory off and restores it",
    "the rules read surface returns the stored rules",
    "journal lane entries are readable for a store",
    "handoff scenes are listed per branch for a store",
    "the consolidation changelog is readable for a store",
)
