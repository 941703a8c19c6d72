internal import Console
internal import RecordStore
internal import Records

/// A part of a zone's feed: after one token, up to another token or to the present.
struct FeedSpan: Sendable {
    /// The explanation of the first token; `nil` without a token, and for a token that is not of this zone's feed.
    let begin: TokenExplanation?
    /// The explanation of the second token; `nil` for the present, and for a token that is not of this zone's feed.
    let end: TokenExplanation?
    /// The reason why the two tokens can't be combined.
    let refusal: SpanRefusal?

    /// The position up to which the client was complete when its pull began.
    var base: Int64 { begin?.base ?? 0 }

    init(_ form: RecordFeedForm, of zoneID: ZoneID, visit: Visit) async throws {
        let first: TokenExplanation? =
            if let since = form.since { try await Self.meaning(of: since, visit) } else { nil }
        begin = first.flatMap { $0.stands(in: zoneID, of: visit.place) ? $0 : nil }
        guard let upto = form.upto else {
            (end, refusal) = (nil, nil)
            return
        }
        do {
            let explanation = try await Self.explain(upto, visit)
            end = explanation.flatMap { $0.stands(in: zoneID, of: visit.place) ? $0 : nil }
            refusal = Self.refusal(explanation, begin: begin, form: form, zoneID: zoneID, visit: visit)
        } catch is RecordError {
            end = nil
            refusal = SpanRefusal(
                "The second token is not from this server, or is damaged.",
                "Paste the whole token as the server returned it. The page Decode explains any text.",
                link: Frame.Link(text: "Explain it on Decode", href: visit.place.link("token", [("token", upto.text)])))
        }
    }

    private static func explain(_ token: ChangeToken, _ visit: Visit) async throws -> TokenExplanation? {
        guard visit.database.can(.explainTokens) else { return nil }
        return try await visit.measure { try await visit.database.require(.explainTokens).explain(token) }
    }

    private static func meaning(of token: ChangeToken, _ visit: Visit) async throws -> TokenExplanation? {
        try await visit.measure { try await visit.database.meaning(of: token) }
    }

    private static func refusal(
        _ end: TokenExplanation?, begin: TokenExplanation?, form: RecordFeedForm, zoneID: ZoneID, visit: Visit
    ) -> SpanRefusal? {
        guard let end else {
            return SpanRefusal("This store can't \(Capability.explainTokens.task).", "Leave the second token out.")
        }
        let zoneName = visit.zoneName(zoneID)
        let wanted = "Paste a token from a pull of the zone \(zoneName)."
        switch end.validity {
        case .foreign(let why): return SpanRefusal("The second token is not for this database: \(why).", wanted)
        case .good, .expired: break
        }
        switch end.subject {
        case .database:
            return SpanRefusal("The second token is a database token. It has no position in a zone.", wanted)
        case .zone(nil): return SpanRefusal("The second token belongs to a zone that no longer exists.", wanted)
        case .zone(let other?) where !visit.place.isSame(other, zoneID):
            return SpanRefusal(
                "The second token belongs to the zone \(visit.zoneName(other)). Each zone has its own positions.",
                wanted)
        case .zone: break
        }
        if case .expired(let why) = end.validity {
            return SpanRefusal(
                "The second token has expired: \(why).",
                "Its changes are no longer known. Leave it out to see changes up to now.",
                link: Frame.Link(
                    text: "Show changes up to now",
                    href: visit.place.link("changes", form.parameters(since: form.since))))
        }
        if end.progress == .reversePull {
            return SpanRefusal(
                "The second token is from a page of a newest-first pull. Its client has the changes after it, not the changes before it.",
                "Paste the last token of the pull.")
        }
        guard let begin else { return nil }
        if begin.progress == .reversePull {
            return SpanRefusal(
                "The first token is from a page of a newest-first pull. Its client has the changes after it, not the changes before it.",
                "Paste the first token of the pull.")
        }
        if end.position < begin.position {
            let swapped = form.upto.map { form.parameters(since: $0, upto: form.since) } ?? []
            return SpanRefusal(
                "The second token is older than the first: its position is \(Digits.grouped(end.position)), and the first one's is \(Digits.grouped(begin.position)).",
                "Changes are listed from the older token to the newer one.",
                link: Frame.Link(text: "Swap them", href: visit.place.link("changes", swapped)))
        }
        return nil
    }

    /// Sends the first token to the API when there are no changes to list, to get the error that clients get.
    /// - Throws: `RecordError` if the database refuses the token.
    func check(_ form: RecordFeedForm, of zoneID: ZoneID, visit: Visit) async throws {
        let request = ZoneChangesRequest(zoneID, since: form.since, limit: PageLimit(records: 1), desiredKeys: [])
        _ = try await visit.measure { try await visit.database.zoneChanges(request) }
    }

    /// A page of the changes.
    func page(_ form: RecordFeedForm, of zoneID: ZoneID, visit: Visit) async throws -> ZoneChangesPage {
        let request = ZoneChangesRequest(
            zoneID, since: form.since, limit: PageLimit(records: form.limit),
            desiredKeys: form.keys.set,
            desiredRecordTypes: form.type.map { [$0] }, reverse: form.isReverse && form.upto == nil)
        var page = try await visit.measure { try await visit.database.zoneChanges(request) }
        guard let end, let upto = form.upto else { return page }
        let inside = page.changes.prefix { $0.position.map { $0 <= end.position } ?? true }
        var isOver = !page.moreComing || inside.count < page.changes.count
        if !isOver, let reached = try await Self.explain(page.syncToken, visit) {
            isOver = reached.position >= end.position
        }
        page.changes = Array(inside)
        page.moreComing = !isOver
        // After the last page, a client knows everything up to the second token.
        if isOver { page.syncToken = upto }
        return page
    }
}

extension TokenExplanation {
    /// The position up to which the client was complete when the pull of the token began.
    var base: Int64 {
        switch progress {
        case .complete, .reversePull: position
        case .pull(let since): since
        case .firstPull: 0
        }
    }

    /// True if the token belongs to the feed of the zone, even if it has expired.
    fileprivate func stands(in zoneID: ZoneID, of place: Place) -> Bool {
        guard case .zone(let own?) = subject, place.isSame(own, zoneID) else { return false }
        if case .foreign = validity { return false }
        return true
    }
}

// MARK: - Refusal

/// The reason why there can be no changes between two tokens, and advice.
struct SpanRefusal: ViewModel {
    let reason: String
    let advice: String
    let link: Frame.Link?

    init(_ reason: String, _ advice: String, link: Frame.Link? = nil) {
        self.reason = reason
        self.advice = advice
        self.link = link
    }
}
