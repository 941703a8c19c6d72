internal import JSON
internal import Records

/// What the form of the page says.
struct RecordFeedForm: Sendable {
    let isSince: Bool
    let tokenText: String
    let returnsSystemFieldsOnly: Bool
    let isReverse: Bool
    let type: Name?
    let limit: Int

    init(_ fields: FormFields) {
        isSince = fields["since"] != nil
        tokenText = (fields["token"] ?? "").filter { !$0.isWhitespace }
        returnsSystemFieldsOnly = fields["return"] == "system"
        isReverse = fields["order"] == "reverse"
        type = fields.text("type").map { Name($0) }
        limit = fields["limit"].flatMap { Int($0) }.map { min(max($0, 1), 200) } ?? 100
    }

    var since: ChangeToken? { isSince && !tokenText.isEmpty ? ChangeToken(text: tokenText) : nil }

    /// The query string for the same question since another token.
    func parameters(since token: ChangeToken) -> [(name: String, value: String)] {
        var parameters = [("since", "1"), ("token", token.text)]
        if returnsSystemFieldsOnly { parameters.append(("return", "system")) }
        if isReverse { parameters.append(("order", "reverse")) }
        if let type { parameters.append(("type", type.string)) }
        if limit != 100 { parameters.append(("limit", String(limit))) }
        return parameters.map { (name: $0.0, value: $0.1) }
    }
}
