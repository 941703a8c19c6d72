internal import Console
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records
internal import Workbench

extension Console {
    /// Adds the pages that take pasted text: tokens and errors.
    func addWorkbenchPages(to router: Routes.Group) {
        show("token", on: router) { .page(try await TokenView.load($0)) }
        show("errors", on: router) { .page(try await ErrorsView.load($0)) }
        paste("token", ["token", "with"], on: router) { .page(try await TokenView.load($0)) }
        paste("errors", ["error"], on: router) { .page(try await ErrorsView.load($0)) }
    }

    /// The size limit in bytes of a form with pasted text: two texts, with every byte percent-encoded.
    private static let pasteLimit = 2 * 3 * PastedText.limit + 1_024
    /// The longest link, in bytes, that servers and mail programs usually accept.
    private static let linkLimit = 1_500

    /// Adds a form with pasted text. Short text redirects to a link that users can keep and send. Longer text is answered directly. Nothing changes.
    private func paste(
        _ page: String, _ names: [String], on router: Routes.Group, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(page)") { request, context in
            let fields = try await request.form(limit: Self.pasteLimit)
            let visit = try await Visit(request, context, fields: fields, console: self)
            let texts = names.compactMap { name in fields.text(name).map { (name: name, value: $0) } }
            return try await response(to: visit) {
                texts.reduce(0) { $0 + $1.value.utf8.count } <= Self.linkLimit ? .redirect(visit.place.link(page, texts)) : try await answer(visit)
            }
        }
    }
}
