internal import JSON
internal import Records

/// What the form of the page says.
struct RecordFeedForm: Sendable {
    /// What is listed.
    enum Listing: Sendable, Equatable {
        /// The part of the feed that is asked for.
        case asked
        /// What changed again after the upper token, from a token on; `nil` for all of it.
        case changedAgain(from: ChangeToken?)
    }

    let isSince: Bool
    let tokenText: String
    /// The token up to which to look; empty for now.
    let uptoText: String
    let listing: Listing
    /// Whether the timeline shows only what is asked for.
    let isZoomed: Bool
    let returnsSystemFieldsOnly: Bool
    let isReverse: Bool
    let type: Name?
    let limit: Int

    init(_ fields: FormFields) {
        isSince = fields["since"] != nil
        tokenText = (fields["token"] ?? "").filter { !$0.isWhitespace }
        uptoText = (fields["upto"] ?? "").filter { !$0.isWhitespace }
        let again = uptoText.isEmpty ? nil : fields["again"]
        listing = again.map { .changedAgain(from: $0.isEmpty ? nil : ChangeToken(text: $0)) } ?? .asked
        isZoomed = fields["zoom"] != nil
        returnsSystemFieldsOnly = fields["return"] == "system"
        isReverse = fields["order"] == "reverse"
        type = fields.text("type").map { Name($0) }
        limit = fields["limit"].flatMap { Int($0) }.map { min(max($0, 1), 200) } ?? 100
    }

    var since: ChangeToken? { isSince && !tokenText.isEmpty ? ChangeToken(text: tokenText) : nil }

    var upto: ChangeToken? { uptoText.isEmpty ? nil : ChangeToken(text: uptoText) }

    /// The query string for the same question about another part of the feed.
    /// - Parameters:
    ///   - token: where it begins; `nil` for the beginning.
    ///   - upto: where it ends; `nil` for now.
    ///   - again: lists what changed again after the end, from this token on; an empty one stands for the end.
    func parameters(
        since token: ChangeToken?, upto: ChangeToken? = nil, again: ChangeToken? = nil, isZoomed: Bool = false
    ) -> [(name: String, value: String)] {
        var parameters: [(String, String)] = []
        if let token { parameters += [("since", "1"), ("token", token.text)] }
        if let upto { parameters.append(("upto", upto.text)) }
        if let again { parameters.append(("again", again.text)) }
        if isZoomed { parameters.append(("zoom", "1")) }
        if returnsSystemFieldsOnly { parameters.append(("return", "system")) }
        if isReverse { parameters.append(("order", "reverse")) }
        if let type { parameters.append(("type", type.string)) }
        if limit != 100 { parameters.append(("limit", String(limit))) }
        return parameters.map { (name: $0.0, value: $0.1) }
    }
}
