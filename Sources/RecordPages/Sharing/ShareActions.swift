internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Makes, changes and ends shares in the name of the user of the place.
enum ShareActions {
    private static let tooLate = "It was changed after you loaded the form, so nothing was saved. The form shows the current state."

    /// Handles the form: previews the requests, or saves the share.
    static func submit(_ visit: Visit) async throws -> Answer {
        let target = try await ShareTarget.load(visit)
        let form = ShareForm(visit.fields)
        // Somebody has shared it, or has stopped sharing, since the form was loaded.
        guard form.isNew ? target.share == nil : form.shareName == target.share?.record.recordID.recordName else {
            return .page(try ShareView(ShareForm(target), target, remark: tooLate, visit))
        }
        guard visit.fields["do"] == "save" else { return .page(try ShareView(form, target, visit)) }
        do {
            guard let operation = try form.operation(on: target, visit.people) else {
                return .page(try ShareView(form, target, remark: "Nothing was changed, so nothing was saved.", visit))
            }
            for result in try await modify([operation], in: target.zoneID, visit) { _ = try result.get() }
            let notice = target.share == nil ? Notice.shareMade : .shareChanged
            return .redirect(visit.place.link("share", target.parameters + [notice.parameter]))
        } catch let error as RecordError where error.code == .conflict || error.code == .exists {
            let now = try await ShareTarget.load(visit)
            return .page(try ShareView(ShareForm(now), now, complaint: Complaint(error), remark: tooLate, visit))
        } catch let error as RecordError {
            return .page(try ShareView(form, target, complaint: Complaint(error), visit))
        }
    }

    // MARK: Ends

    static func confirmStop(_ visit: Visit) async throws -> ConfirmationView {
        confirmation(of: try await ShareTarget.existing(visit), visit)
    }

    /// Deletes the share, provided that it has not changed since the confirmation page.
    static func stop(_ visit: Visit) async throws -> Answer {
        let share = try await ShareTarget.existing(visit)
        let operation = RecordOperation(.delete, recordName: share.record.recordID.recordName, recordChangeTag: visit.fields["tag"])
        do {
            for result in try await modify([operation], in: share.zoneID, visit) { _ = try result.get() }
        } catch let error as RecordError where error.code == .conflict {
            return .page(confirmation(of: try await ShareTarget.existing(visit), isChanged: true, visit))
        }
        guard let root = share.rootName else { return .redirect(visit.place.link("zone", [Notice.shareStopped.parameter])) }
        return .redirect(visit.place.link("record", [("name", root.string), Notice.shareStopped.parameter]) + "#shared")
    }

    private static func confirmation(of share: ZoneShare, isChanged: Bool = false, _ visit: Visit) -> ConfirmationView {
        let names = share.share.guests.map { visit.people.name(of: $0) }
        let invited = share.share.participants.count { $0.status == .invited }
        var lines = isChanged ? ["Somebody changed the share in the meantime, so nothing was done. This is its current state."] : []
        lines.append(
            names.isEmpty
                ? "Nobody has accepted it, so nobody loses anything."
                : "\(names.joined(separator: ", ")) \(names.count == 1 ? "loses" : "lose") the records: they are deleted in the shared database and on the devices. "
                    + "They stay in \(visit.people.actor.displayName)’s private database.")
        if invited > 0 { lines.append("\(Digits.count(invited, "invitation")) can’t be accepted any more.") }
        lines.append(share.rootName == nil ? "The link stops working." : "The link stops working. It is the same again if the record is shared again.")
        return ConfirmationView(
            on: .sharing, title: "Stop sharing “\(share.title)”?", lines: lines, action: visit.place.link("share/stop"),
            fields: hidden(share) + [Frame.Hidden(name: "tag", value: share.record.recordChangeTag)], button: "Stop sharing",
            cancel: visit.place.link("share", parameters(share)))
    }

    static func confirmLeaving(_ visit: Visit) async throws -> ConfirmationView {
        let share = try await ShareTarget.existing(visit)
        let owner = share.share.owner?.userRecordName.map { visit.people.name(of: $0) } ?? "the owner"
        return ConfirmationView(
            on: .sharing, title: "Leave “\(share.title)”?",
            lines: [
                "\(visit.people.actor.displayName) loses the records, and \(owner) keeps them.",
                share.share.publicPermission == .none
                    ? "To come back, \(owner) has to invite \(visit.people.actor.displayName) again." : "To come back, open the link again.",
            ], action: visit.place.link("share/leave"), fields: hidden(share), button: "Leave", cancel: visit.place.link("share", parameters(share)))
    }

    static func leave(_ visit: Visit) async throws -> String {
        let share = try await ShareTarget.existing(visit)
        let operation = RecordOperation(.forceDelete, recordName: share.record.recordID.recordName)
        for result in try await modify([operation], in: share.zoneID, visit) { _ = try result.get() }
        // The zone may be gone for this user.
        return visit.place.with { $0.zone = .unspecified }.link("zones", [Notice.shareLeft.parameter])
    }

    // MARK: Parts

    private static func modify(_ operations: [RecordOperation], in zoneID: ZoneID, _ visit: Visit) async throws -> [Result<ModifyOutcome, RecordError>] {
        try await visit.measure { try await visit.database.modify(ModifyRequest(operations, zoneID: zoneID)) }
    }

    private static func parameters(_ share: ZoneShare) -> [(name: String, value: String)] { share.rootName.map { [("name", $0.string)] } ?? [] }

    private static func hidden(_ share: ZoneShare) -> [Frame.Hidden] { parameters(share).map { Frame.Hidden(name: $0.name, value: $0.value) } }
}
