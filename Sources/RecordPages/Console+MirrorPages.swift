internal import Console
internal import HTTPServing

extension Console {
    /// Adds the pages of a connected container's mirror, and those of the changes in it that iCloud does not have.
    func addMirrorPages(to router: Routes.Group) {
        guard connections != nil else { return }
        let jobs = MirrorJobs(accounts)
        show("mirror", on: router) { .page(try await MirrorView.load($0, jobs: jobs)) }
        submit("mirror/start", carries: .choices, on: router) { try await MirrorActions.start($0, runs: runs, jobs: jobs) }
        act("mirror/stop", on: router) { try MirrorActions.stop($0, jobs: jobs) }
        act("mirror/files", on: router) { try await MirrorActions.fetchFiles($0, jobs: jobs) }
        show("unsent", on: router) { .page(try await UnsentView.load($0)) }
        act("unsent/send", on: router) { try await UnsentActions.send($0, runs: runs, jobs: jobs) }
        act("unsent/settle", on: router) { try await UnsentActions.settle($0) }
        show("unsent/conflict", on: router) { .page(try await UnsentActions.conflict($0)) }
        submit("unsent/resolve", carries: .record(times: 3), on: router) { try await UnsentActions.resolve($0) }
    }
}
