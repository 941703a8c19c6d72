internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page of a zone: its content, its participants, and its deletion.
struct ZoneView: Page {
    static let template = "zone"
    static let tab = Tab.zones

    struct TypeRow: ViewModel {
        let name: String
        let count: String
        let query: String
    }

    struct Participant: ViewModel {
        let name: String
        let handle: String?
        let permission: String
        let stop: String
        /// The link to the zone as this user sees it.
        let view: String?
    }

    struct Sharing: ViewModel {
        let participants: [Participant]
        let action: String
        /// The input for the user to share with; `nil` if there are no other users.
        let user: UserField?
        let usersPage: String
    }

    let title: String
    let name: String
    let owner: String?
    let notice: String?
    /// The page Who sees what; `nil` if the zone can have no shares.
    let sees: String?
    let types: [TypeRow]
    let records: String?
    let deletions: String?
    let token: TokenOutput?
    let query: String
    let fetch: String
    let changes: String?
    let sharing: Sharing?
    /// The form that shares the whole zone; `nil` for zones that can't be shared.
    let share: String?
    /// The link that copies the zone; `nil` if the engine can't list records.
    let copy: String?
    /// The link to the confirmation of the deletion; `nil` for zones that can't be deleted.
    let delete: String?
    let purge: String?
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> ZoneView {
        guard let asked = visit.place.zoneID else { throw RecordError(.badRequest, "The address of a zone needs its name: zone?zone=…") }
        guard let zone = visit.zones.first(where: { visit.place.isSame($0.zoneID, asked) }) else { throw RecordError.zoneNotFound }
        let place = visit.place
        let counts = try await visit.counts(in: asked)
        let isOwned = place.address.scope == .private && visit.hasFeed(asked)
        return ZoneView(
            title: visit.zoneName(asked), name: visit.zoneName(asked), owner: visit.ownerName(asked), notice: Notice.text(visit.fields["notice"]),
            sees: visit.mayShare(asked) ? place.link("sees") : nil,
            types: (counts?.records ?? [:]).filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { type, count in
                TypeRow(name: type.string, count: Digits.grouped(count), query: place.link("query", [("type", type.string)]))
            },
            records: counts.map { Digits.count($0.total, "record") }, deletions: counts.map { Digits.count($0.deletions, "deletion") },
            token: zone.syncToken.map { token in
                TokenOutput(
                    text: token.text, again: place.link("changes", [("since", "1"), ("token", token.text)]),
                    explain: place.link("token", [("token", token.text)]))
            },
            query: place.link("query"), fetch: place.link("fetch"), changes: visit.hasFeed(asked) ? place.link("changes") : nil,
            sharing: isOwned ? try await Sharing(asked, visit: visit) : nil,
            share: isOwned && visit.database.can(.listShares) ? place.link("share") : nil,
            copy: visit.database.can(.listRecords) ? place.link("zone/copy") : nil, delete: isOwned ? place.link("zone/delete") : nil,
            purge: isOwned && visit.database.can(.purgeZones) ? place.link("zone/purge") : nil,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension ZoneView.Sharing {
    fileprivate init?(_ zoneID: ZoneID, visit: Visit) async throws {
        guard visit.database.can(.shareRecords) else { return nil }
        let found = try await visit.measure { try await visit.database.participants(of: zoneID) }
        let place = visit.place
        participants = found.map { participant in
            let user = visit.people.user(participant.userRecordName)
            let theirs = user.map { user in
                Place(
                    address: DatabaseAddress(container: place.address.container, environment: place.address.environment, scope: .shared),
                    user: user.handle == User.developerHandle ? nil : user.handle,
                    zone: .one(ZoneID(zoneName: zoneID.zoneName, ownerRecordName: visit.people.actor.userRecordName)))
            }
            return ZoneView.Participant(
                name: visit.people.name(of: participant.userRecordName), handle: user?.handle,
                permission: participant.permission == .readOnly ? "may read" : "may read and write",
                stop: place.link("zone/unshare", [("with", participant.userRecordName.string)]), view: theirs?.link("changes"))
        }
        action = place.link("zone/share")
        let actor = visit.people.actor
        let others = UserField(visit.people, name: "with", id: "with") { $0 != actor && !$0.isServerKey }
        user = others.isTyped || !others.choices.isEmpty ? others : nil
        usersPage = place.link("users")
    }
}
