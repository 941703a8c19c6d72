internal import HTTPServing
internal import JSON
internal import Records
internal import Traffic
internal import Workbench

/// The page Errors: an error that a developer has in hand, what it means, what to do, and the request it came from.
struct ErrorsView: Page {
    static let template = "errors"
    static let tab = Tab.errors

    let title = "Errors"
    let action: String
    let text: String
    let isTooLongToShow: Bool
    /// Said where nothing could be read.
    let problem: String?
    /// The error that brought all the others, where one can be told.
    let cause: String?
    let errors: [ErrorCard]
    let isCut: Bool
    /// Whether the codes are what the page is about.
    let isFirst: Bool
    let hidden: [Frame.Hidden]
    let find: String
    let lists: [ErrorCodeList]
    let hasNoCodes: Bool
    let milliseconds: String
}

extension ErrorsView {
    /// Longer texts are not put into the form again.
    private static let shownLength = 16 << 10

    static func load(_ visit: Visit) async throws -> ErrorsView {
        let text = visit.fields["error"] ?? ""
        let isFirst = text.allSatisfy(\.isWhitespace)
        let read = isFirst ? nil : try await WorkPool.prompt.run(on: text.utf8.count * 4) { ErrorText(text) }
        let find = visit.fields["find"] ?? ""
        let lists = ErrorCodeList.all(matching: find)
        let isTooLong = text.utf8.count > shownLength
        return ErrorsView(
            action: visit.place.link("errors"), text: isTooLong ? "" : text, isTooLongToShow: isTooLong, problem: read.flatMap(problem),
            cause: read.flatMap(cause), errors: read?.errors.map { ErrorCard($0, visit: visit) } ?? [], isCut: read?.isCut ?? false, isFirst: isFirst,
            hidden: visit.place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, find: find, lists: lists,
            hasNoCodes: lists.allSatisfy(\.codes.isEmpty), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func problem(_ read: ErrorText) -> String? {
        if read.isTooLong { return "The text is longer than \(Digits.limit(Int64(ErrorText.limit))). Paste the part from ‘<CKError’ on." }
        return read.isEmpty
            ? "There is no error of CloudKit in this text. It looks for ‘<CKError …>’, ‘Error Domain=CKErrorDomain …’, a serverErrorCode, and the names and numbers of codes." : nil
    }

    /// Batches fail as a whole, and wrappers wrap: the errors that say something are those that are neither.
    private static func cause(_ read: ErrorText) -> String? {
        guard read.errors.count > 1 else { return nil }
        let telling = read.errors.filter { error in
            guard let code = error.code else { return error.message != nil && error.domain == nil }
            return !["partialFailure", "batchRequestFailed", "ATOMIC_ERROR"].contains(code.name)
        }
        guard let error = telling.max(by: { $0.depth < $1.depth }) else { return nil }
        let name = error.code?.name ?? error.name ?? "an error"
        let subject = error.subject.map { " of \($0)" } ?? ""
        let message = error.message.map { ": ‘\($0)’" } ?? ""
        return "\(name)\(subject)\(message)"
    }
}
