internal import HTTPServing
internal import Hummingbird

extension Console {
    /// What became of a record, and the way back to what it was.
    func addHistoryPages(to router: Router<ServingRequestContext>) {
        show("record/history", on: router) { .page(try await RecordHistoryView.load($0)) }
        show("record/restore", on: router) { .page(try await RestoreView.load($0)) }
        act("record/restore", on: router) { try await RecordRestoring.restore($0) }
    }
}
