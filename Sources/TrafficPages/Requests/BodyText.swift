internal import Console
internal import JSON
internal import Traffic

/// The body of a request or of its answer, formatted for readers.
struct BodyText: ViewModel {
    let label: String
    /// `nil` if there is nothing to show.
    let text: String?
    /// Notes about differences from the original: truncation, or hidden values.
    let notes: [String]
    /// True if values of records are hidden.
    let hidesValues: Bool

    /// - Parameters:
    ///   - body: the kept part of the body.
    ///   - size: the size of the whole body, in bytes.
    ///   - isUnread: true if the server did not read the body to its end.
    /// - Returns: `nil` for an empty body.
    init?(_ label: String, _ body: RequestBodies.Body?, size: Int, isUnread: Bool = false, showsValues: Bool) {
        if size == 0, !isUnread { return nil }
        self.label = label
        if isUnread {
            (text, hidesValues) = (nil, false)
            notes = ["The body is not kept: the request failed before it was read."]
            return
        }
        guard let body, !body.bytes.isEmpty else {
            text = nil
            notes = ["The body of \(Digits.bytes(Int64(size))) is not kept. Files are never kept, and older requests keep only their heads."]
            hidesValues = false
            return
        }
        var notes: [String] = []
        if body.isCut { notes.append("Only the first \(Digits.bytes(Int64(body.bytes.count))) of \(Digits.bytes(Int64(body.total))) are kept.") }
        let end = body.isCut ? "\n…" : ""
        if let value = Self.value(of: body) {
            var hidden = HiddenValues()
            let shown = showsValues ? value : hidden.hide(in: value)
            hidesValues = hidden.count > 0
            text = RecordJSON.laidOut(shown) + end
        } else if showsValues {
            hidesValues = false
            text = String(decoding: body.bytes, as: UTF8.self) + end
        } else {
            hidesValues = true
            text = nil
            notes.append("The body is not JSON, so values can't be hidden separately.")
        }
        self.notes = notes
    }

    /// The JSON value of a body, as far as it is kept.
    static func value(of body: RequestBodies.Body) -> JSONValue? {
        let whole = body.isCut ? CutJSON.completed(body.bytes) : body.bytes
        return whole.flatMap { try? JSONReader.value(of: $0) }
    }
}
