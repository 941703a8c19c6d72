internal import Console
internal import JSON
internal import Records

extension SharingReason {
    /// The names that sentences and links use.
    struct Subject {
        let recordName: Name
        let zoneID: ZoneID
        let user: String
        let owner: String
        let ownerRecordName: Name
        /// The record that holds the share through which guests see the record.
        let shareName: Name?
        /// The owner's private database.
        let place: Place
    }

    /// The reason, its remedy, and a link to where the remedy begins.
    func words(_ subject: Subject) -> (reason: String, remedy: String, next: Frame.Link?) {
        let user = subject.user
        func link(_ text: String, _ name: Name?) -> Frame.Link? {
            name.map { Frame.Link(text: text, href: subject.place.link(toRecord: $0, in: subject.zoneID)) }
        }
        let edit = Frame.Link(
            text: "Edit the record", href: subject.place.inZone(subject.zoneID).link("record/edit", [("name", subject.recordName.string)]))
        let share = link("See the share", subject.shareName)
        switch self {
        case .notShared:
            return ("The zone has no share, so only \(subject.owner) sees it.", "Share the record, a record above it, or the zone.", link("See the record", subject.recordName))
        case .noParent:
            return (
                "The record is in no share: it has no parent, and is not shared itself.", "Save it with a parent that is shared, directly or through its own parents.",
                edit
            )
        case .parentOutside(let chain):
            return (
                "The record is in no share, and no record above it is: \(chain.text).", "Share one of them, or save the record with a parent that is shared.",
                link("See the record at the top", chain.names.last)
            )
        case .parentMissing(let missing, let chain):
            return (
                "The chain of parents breaks: \(chain.text), and then \(missing), which does not exist.",
                "Restore \(missing), or save the record below it with another parent.", link("See what \(missing) was", missing)
            )
        case .parentsInACircle(let chain):
            return (
                "The chain of parents is a circle: \(chain.text), and then \(subject.recordName == chain.names.last ? "itself" : "one of them") again.",
                "Save one of them with another parent.", edit
            )
        case .tooManyParents:
            return ("The record has more than \(SharingReader.chainLimit) records above it, and none of the nearest is shared.", "Save it with a parent that is shared.", edit)
        case .notMovedYet:
            return ("The server is still moving the records of the share in or out.", "The client gets it with a later pull.", nil)
        case .notAccepted:
            return ("\(user) was invited and has not accepted.", "\(user) must open the link of the share; its app then sends records/accept.", share)
        case .notJoined:
            return (
                "Everybody with the link may take part, but \(user) has not accepted.", "\(user) must open the link of the share; its app then sends records/accept.", share
            )
        case .left:
            return ("\(user) has left the share.", "Invite \(user) again.", share)
        case .removed:
            return ("\(user) was a guest of the zone, until \(subject.owner) ended it.", "Invite \(user) again.", share)
        case .linkClosed:
            return (
                "\(user) is not invited, and the link is closed to others. It was refused in", "Invite \(user), or set publicPermission to READ_ONLY or READ_WRITE.", share
            )
        case .notInvited:
            return (
                "\(user) is not a participant of the share: never invited, or removed by \(subject.owner).", "Invite \(user), or set publicPermission to READ_ONLY or READ_WRITE.",
                share
            )
        case .otherDatabase(let stray):
            return (
                "\(user) has accepted, but the client asks the \(stray.scope.rawValue) database for zone \(subject.zoneID.zoneName), which is another one:",
                "It must ask the shared database, with ownerRecordName \(subject.ownerRecordName) in the zoneID.", share
            )
        case .otherOwner(let stray):
            return (
                "\(user) has accepted, but the client asks for zone \(subject.zoneID.zoneName) \(stray.owner.map { "of \($0)" } ?? "without ownerRecordName"):",
                "Its zoneID needs ownerRecordName \(subject.ownerRecordName). changes/database of the shared database tells it.", share
            )
        case .readOnly:
            return ("A change of the record was refused, because \(user) may only read it:", "Give \(user) the permission READ_WRITE.", share)
        }
    }

    /// True if the user sees the record, and only can't change it.
    var isOfWriting: Bool {
        if case .readOnly = self { true } else { false }
    }

    /// The request that shows the reason.
    var source: Delivery.Source? {
        switch self {
        case .linkClosed(let source), .readOnly(let source): source
        case .otherDatabase(let stray), .otherOwner(let stray): stray.source
        default: nil
        }
    }
}
