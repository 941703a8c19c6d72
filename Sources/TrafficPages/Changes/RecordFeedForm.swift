internal import Console
internal import JSON
internal import Records

/// The input of the page's form.
struct RecordFeedForm: Sendable {
    /// The part of the feed that the page lists.
    enum Listing: Sendable, Equatable {
        /// The requested part of the feed.
        case asked
        /// Records that changed again after the second token, starting at a token; `nil` for all of them.
        case changedAgain(from: ChangeToken?)
    }

    let isSince: Bool
    let tokenText: String
    /// The end token; empty for the present.
    let uptoText: String
    let listing: Listing
    /// True if the timeline shows only the requested part.
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
        limit = fields.number("limit", in: 1...200) ?? 100
    }

    var since: ChangeToken? { isSince && !tokenText.isEmpty ? ChangeToken(text: tokenText) : nil }

    var upto: ChangeToken? { uptoText.isEmpty ? nil : ChangeToken(text: uptoText) }

    /// The URL parameters of the same request for another part of the feed.
    /// - Parameters:
    ///   - token: the start token; `nil` for the beginning.
    ///   - upto: the end token; `nil` for the present.
    ///   - again: lists the records that changed again after the end, starting at this token. An empty token is the end itself.
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
