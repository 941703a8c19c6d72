internal import Console
internal import HTTPServing
internal import Hummingbird

extension Console {
    /// Adds the Check page and its actions.
    func addCheckPages(to router: Routes.Group) {
        show("check", on: router) { .page(try await CheckView.load($0, runs: runs)) }
        act("check/start", on: router) { try await CheckActions.start($0, runs: runs) }
        act("check/cancel", on: router) { CheckActions.cancel($0, runs: runs) }
    }
}
