internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

extension DeliveryPanel.Row {
    /// - Returns: `nil` if nothing is known.
    init?(_ finding: DeliveryPanel.Finding, of sharing: SharingReader, visit: Visit) {
        var notes: [DeliveryPanel.Note] = []
        var (verdict, tone) = ("no", "deleted")
        // A right that is missing for changes does not keep the record away, but all other reasons in sharing do.
        let hidesDelivery = if let reason = finding.reason, !finding.isDelivered { !reason.isOfWriting } else { false }
        if let delivery = finding.delivery, let position = finding.position, !hidesDelivery {
            let state = DeliveryState(delivery, of: sharing.record, in: finding.scope, at: position, hasSaved: finding.save != nil, visit: visit)
            (verdict, tone) = (state.verdict, state.tone)
            if let save = finding.save {
                (verdict, tone) = ("yes", "created")
                notes.append(DeliveryPanel.Note(text: "It saved this version itself, with", request: Frame.Link(save, visit), advice: nil, next: nil))
            }
            notes.append(state.note)
        }
        if let reason = finding.reason, hidesDelivery || reason.isOfWriting { notes.append(DeliveryPanel.Note(reason, for: finding.name, of: sharing, visit: visit)) }
        if notes.isEmpty { return nil }
        client = finding.history.map { Frame.Link(text: $0.identity.label, href: visit.place.link("clients") + "#" + $0.anchor) }
        (user, self.verdict, self.tone, self.notes) = (finding.name, verdict, tone, notes)
    }

    static func list(_ names: [String], separator: String = ", ") -> String {
        let shown = names.prefix(5).joined(separator: separator)
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }
}

extension DeliveryPanel.Note {
    fileprivate init(_ reason: SharingReason, for user: String, of sharing: SharingReader, visit: Visit) {
        let zoneID = sharing.record.recordID.zoneID
        let place = visit.place.with {
            $0.address.scope = .private
            let handle = visit.people.user(sharing.owner)?.handle ?? sharing.owner.string
            $0.user = handle == User.developerHandle ? nil : handle
        }
        let words = reason.words(
            SharingReason.Subject(
                recordName: sharing.record.recordID.recordName, zoneID: zoneID, user: user, owner: visit.people.name(of: sharing.owner),
                ownerRecordName: sharing.owner, shareName: sharing.share?.record.recordID.recordName, place: place))
        self.init(text: words.reason, request: reason.source.map { Frame.Link($0, visit) }, advice: words.remedy, next: words.next)
    }
}

extension Frame.Link {
    /// Leads to a request.
    fileprivate init(_ source: Delivery.Source, _ visit: Visit) {
        self.init(
            text: "\(source.operation) of \(source.started.utcText.prefix(19)) UTC", href: visit.place.link("requests", [("id", source.requestID)]))
    }
}

/// A delivery in words.
private struct DeliveryState {
    let verdict: String
    let tone: String
    let note: DeliveryPanel.Note

    init(_ delivery: Delivery, of record: StoredRecord, in scope: DatabaseScope, at position: RecordPosition, hasSaved: Bool, visit: Visit) {
        let stands = Digits.grouped(position.latest)
        let text: String
        let advice: String?
        var source: Delivery.Source?
        switch delivery {
        case .delivered(let from, let missing):
            source = from
            verdict = missing.isEmpty ? "yes" : "in part"
            tone = missing.isEmpty ? "created" : "recreated"
            text = missing.isEmpty
                ? "It was in the response to"
                : "It requested only some fields (desiredKeys), so it got the record without \(DeliveryPanel.Row.list(missing.map(\.string))), in the response to"
            advice = nil
        case .deliveredSince(let moment, let missing):
            verdict = missing.isEmpty ? "yes" : "in part"
            tone = missing.isEmpty ? "created" : "recreated"
            text = "It was in a pull since \(moment.utcText.prefix(19)) UTC that the log no longer has"
                + (missing.isEmpty ? "." : "; \(DeliveryPanel.Row.list(missing.map(\.string))) \(missing.count == 1 ? "was" : "were") left out (desiredKeys).")
            advice = nil
        case .found(let from):
            source = from
            (verdict, tone) = ("yes", "created")
            text = "Its pulls did not return it, but it was in the response to"
            advice = nil
        case .otherTypes(let from, let asked):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It requested only \(DeliveryPanel.Row.list(asked.map(\.string))) (desiredRecordTypes), and this is a \(record.recordType)." + (from == nil ? "" : " The pull that skipped it:")
            advice = "Its token is past the record. It must pull without a token to get it."
        case .moreNotFetched(let from, let reached):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It did not fetch all pages: the response had moreComing true. It is at \(Digits.grouped(reached)), the record at \(stands). Its last pull:"
            advice = "It must pull again with the returned token until moreComing is false."
        case .notPulledSince(let from, let reached, let hasEarlierVersion):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It has not pulled since the save: it is at \(Digits.grouped(reached)), the record at \(stands)."
                + (hasEarlierVersion && !hasSaved ? " It may have an earlier version." : "") + " Its last pull:"
            advice = hasSaved ? "Its next pull returns the record again." : "Its next pull returns the record."
        case .beforeTheLog(let reached):
            (verdict, tone) = ("likely", "created")
            text = "Its token is at \(Digits.grouped(reached)), past the record at \(stands), and is older than the log. "
                + "If it pulled everything before that, it has the record."
            advice = nil
        case .skipped(let from, let begun):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "Its first pull began at position \(Digits.grouped(begun)), past the record at \(stands), with a token that no pull returned: "
                + "earlier changes were never sent to it. Its first pull:"
            advice = "A current token, as in zones/list, skips existing records. A new client must first pull without a token."
        case .refused(let from, let error):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "Its last pull of the zone was refused: \(error.code.rawValue), \(error.reason). The request:"
            advice = TokenAdvice.sentences(for: error).first
        case .notLookedAt:
            (verdict, tone) = ("not known", "recreated")
            text = "The log has more pulls than this page reads. The page Clients shows how far the client has synced."
            advice = nil
        case .otherZones(let zones):
            (verdict, tone) = ("no", "deleted")
            text = "It never pulled this zone. It pulls \(DeliveryPanel.Row.list(zones))."
            advice = "changes/database returns the zones to pull."
        case .neverPulled:
            (verdict, tone) = ("no", "deleted")
            text = hasSaved ? "It never pulled the zone." : "It never pulled: it sent other requests to this database, and no response in the log has the record."
            advice = "It gets records with changes/zone, or with a query that matches them."
        case .noClient:
            (verdict, tone) = ("no", "deleted")
            text = "No client of the user has sent a request since the server started."
            advice = "Its first pull returns the record."
        case .elsewhere(let places):
            (verdict, tone) = ("no", "deleted")
            text = "It never sent a request to this database. It uses \(DeliveryPanel.Row.list(places, separator: "; "))."
            advice = "The record is in \(visit.place.address.environment.rawValue), \(scope.rawValue)."
        }
        note = DeliveryPanel.Note(text: text, request: source.map { Frame.Link($0, visit) }, advice: advice, next: nil)
    }
}
