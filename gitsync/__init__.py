"""One git repository, safely: knows git and files, nothing of lanes or of Coffer. Synchronous, one thread a handle.

    repo         make, open; who the user is                step       one change, which becomes one commit
    commit       the transaction                            plan       what it is going to commit
    recover      after a crash; what waits                  records    chains that no branch holds yet
    history      what was committed                         worktree   what differs from it on disk
    maintenance  packing                                    identity   which project a folder belongs to
    distance     how far somebody's branch has moved        lost_blobs what git lost, written again

The past:

    changed_paths  which files each commit changed, kept    blame      who wrote each line
    snapshot     the tree as it was                         line_diff  two texts compared

Several machines:

    remote       fetch and push, within limits              serve      for the user's own git, over HTTP
    quarantine   what came, before it is let in             vet        look at it
    ancestry     what two commits have in common            merge      two histories into one, in memory
    merge_lines  two versions of a text into one
    git_program  guarded  remote_dulwich  remote_address  remote_said    what talks to a remote, and what it says

Below them, git's own formats and protocols, one each:

    objects  loose  packfile     blobs, trees, commits and how they lie on disk
    refs  lockfile               branches, and the locks that git takes too
    git_index  index_format  staging  recent    the index, spliced
    durable  scratch             flushing; small files of our own
    origin  remote_url  plain_files    a project's remote, read without running git

`errors` has everything that is raised. pygit2 reads objects and answers what state the repository is in; what is
written is written here, in git's order and under git's locks. The git program is run to talk to remotes alone.
"""
