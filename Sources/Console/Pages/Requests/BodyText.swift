internal import JSON
internal import Traffic

/// The body of a request or of its answer, laid out for people.
struct BodyText: ViewModel {
    let label: String
    /// `nil` when there is nothing to show of it.
    let text: String?
    /// What is not as it was: cut, or without values.
    let notes: [String]
    /// Whether values of records were taken out of it.
    let hidesValues: Bool

    /// - Parameters:
    ///   - body: what is kept of it.
    ///   - size: the bytes that it had.
    ///   - isUnread: whether there was one that was not read to its end.
    /// - Returns: `nil` for a body without anything.
    init?(_ label: String, _ body: RequestBodies.Body?, size: Int, isUnread: Bool = false, showsValues: Bool) {
        if size == 0, !isUnread { return nil }
        self.label = label
        if isUnread {
            (text, hidesValues) = (nil, false)
            notes = ["It had a body. The request failed before that was read to its end, and nothing of it is kept."]
            return
        }
        guard let body, !body.bytes.isEmpty else {
            text = nil
            notes = ["It had \(Digits.bytes(Int64(size))), which are not kept: files never are, and of older requests only the heads."]
            hidesValues = false
            return
        }
        var notes: [String] = []
        if body.isCut { notes.append("Of \(Digits.bytes(Int64(body.total))) the first \(Digits.bytes(Int64(body.bytes.count))) are kept.") }
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
            notes.append("It is not one JSON value, in which values could be told from the rest.")
        }
        self.notes = notes
    }

    /// What a body says, as far as it is kept.
    static func value(of body: RequestBodies.Body) -> JSONValue? {
        let whole = body.isCut ? CutJSON.completed(body.bytes) : body.bytes
        return whole.flatMap { try? JSONReader.value(of: $0) }
    }
}
