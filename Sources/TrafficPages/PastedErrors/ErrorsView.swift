internal import Console
internal import HTTPServing
internal import JSON
internal import Records
internal import Traffic
internal import Workbench

/// The page Errors: explains a pasted error, with advice and the request that caused it.
struct ErrorsView: Page {
    static let template = "errors"
    static let tab = Tab.errors

    let title = Self.tab.title
    let action: String
    let text: String
    let omission: String?
    /// A message for a text without any readable error.
    let problem: String?
    /// The error that caused all the others, if it is known.
    let cause: String?
    let errors: [ErrorCard]
    let isCut: Bool
    /// True if no text was pasted, so that the code tables are the main content.
    let isFirst: Bool
    let hidden: [Frame.Hidden]
    let find: String
    let lists: [ErrorCodeList]
    let hasNoCodes: Bool
    let milliseconds: String
}

extension ErrorsView {
    static func load(_ visit: Visit) async throws -> ErrorsView {
        let text = visit.fields["error"] ?? ""
        let isFirst = text.allSatisfy(\.isWhitespace)
        let read = isFirst ? nil : try await WorkPool.prompt.run(on: text.utf8.count * 4) { ErrorText(text) }
        let find = visit.fields["find"] ?? ""
        let lists = ErrorCodeList.all(matching: find)
        let pasted = try await PastedValue.read(text)
        return ErrorsView(
            action: visit.place.link("errors"), text: pasted.shown, omission: pasted.omission, problem: read.flatMap(problem),
            cause: read.flatMap(cause), errors: read?.errors.map { ErrorCard($0, visit: visit) } ?? [], isCut: read?.isCut ?? false, isFirst: isFirst,
            hidden: visit.place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, find: find, lists: lists,
            hasNoCodes: lists.allSatisfy(\.codes.isEmpty), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func problem(_ read: ErrorText) -> String? {
        if read.isTooLong { return "The text is longer than \(Digits.bytes(Int64(ErrorText.limit))). Paste the part that begins with ‘<CKError’." }
        return read.isEmpty
            ? "This text has no CloudKit error. Recognised are ‘<CKError …>’, ‘Error Domain=CKErrorDomain …’, a serverErrorCode, the names and numbers of codes, and \(KnownReason.allCases.count) messages." : nil
    }

    /// Batches fail as a whole, and errors wrap others. The root cause is the error that is neither a batch failure nor a wrapper.
    private static func cause(_ read: ErrorText) -> String? {
        guard read.errors.count > 1 else { return nil }
        let telling = read.errors.filter { error in
            guard let code = error.code, code.family != .internal else { return error.message != nil && error.domain == nil }
            return !["partialFailure", "batchRequestFailed", "ATOMIC_ERROR"].contains(code.name)
        }
        guard let error = telling.max(by: { $0.depth < $1.depth }) else { return nil }
        let name = error.code?.name ?? error.name ?? "an error"
        let subject = error.subject.map { " of \($0)" } ?? ""
        let message = error.message.map { ": ‘\($0)’" } ?? ""
        return "\(name)\(subject)\(message)"
    }
}
