internal import Console
internal import HTTPServing
internal import Hummingbird

extension Console {
    /// Adds the pages that show the history of a record and restore earlier versions.
    func addHistoryPages(to router: Routes.Group) {
        show("record/history", on: router) { .page(try await RecordHistoryView.load($0)) }
        show("record/restore", on: router) { .page(try await RestoreView.load($0)) }
        act("record/restore", on: router) { try await RecordRestoring.restore($0) }
    }
}
