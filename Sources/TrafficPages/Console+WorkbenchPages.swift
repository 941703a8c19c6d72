internal import Console
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records
internal import Workbench

extension Console {
    /// Adds the pages that take pasted text: tokens and errors.
    func addWorkbenchPages(to router: Routes.Group) {
        show("token", on: router) { visit in
            // A credential does not stay in the address.
            let value = try await PastedValue.read(visit.fields["token"] ?? "")
            if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential { return .redirect(visit.place.link(to: credential)) }
            return .page(try await TokenView.load(visit))
        }
        show("errors", on: router) { .page(try await ErrorsView.load($0)) }
        ask("token", ["token", "with"], carries: .pastedTexts, on: router) { try await TokenView.load($0) }
        ask("errors", ["error"], carries: .pastedTexts, on: router) { try await ErrorsView.load($0) }
    }
}

extension FormLimit {
    /// Two pasted texts.
    fileprivate static let pastedTexts = texts(of: 2 * PastedText.limit)
}
