internal import JSON
internal import Records

/// The facts that decide if a user other than the owner gets a record.
struct SharingFacts: Sendable {
    /// The way from a record up through its parents.
    struct Chain: Sendable, Hashable {
        enum End: Sendable, Hashable {
            /// The last record has no parent.
            case noParent
            /// The last record has a parent that does not exist.
            case missing(Name)
            /// The last record is shared, with all records below it.
            case shared
            /// The last record is below itself.
            case circle
            /// There are more records.
            case tooLong
        }

        /// The record comes first.
        var names: [Name]
        var end: End

        /// `milk, list, kitchen`
        var text: String { names.map(\.string).joined(separator: ", ") }
    }

    /// A request for another zone of the same name.
    struct Stray: Sendable, Hashable {
        let scope: DatabaseScope
        /// The owner in the request.
        let owner: Name?
        let source: Delivery.Source
    }

    /// The user's clients see the record.
    var isSeen: Bool
    /// The share through which guests see the record; `nil` for none.
    var share: Share?
    /// `nil` if the record is part of a share, or the zone has no share at all.
    var chain: Chain?
    /// The part of the user in the share; `nil` for users who were not invited.
    var participant: ShareParticipant?
    /// The zone was in the user's shared database and is not any more.
    var wasGuest = false
    /// A request that used the link in vain.
    var refusedLink: Delivery.Source?
    /// The latest such request, if the client never named the right zone.
    var stray: Stray?
    /// A request that failed to save or delete the record for lack of rights.
    var refusedWrite: Delivery.Source?
}

/// The reason in sharing why a user does not get a record, or can't change it.
enum SharingReason: Sendable, Hashable {
    /// The zone has no share at all.
    case notShared
    /// The record is no root of a share and has no parent.
    case noParent
    case parentOutside(SharingFacts.Chain)
    case parentMissing(Name, SharingFacts.Chain)
    case parentsInACircle(SharingFacts.Chain)
    case tooManyParents
    /// The records are being moved.
    case notMovedYet
    case notAccepted
    case notJoined
    case left
    case removed
    case linkClosed(Delivery.Source)
    case notInvited
    case otherDatabase(SharingFacts.Stray)
    case otherOwner(SharingFacts.Stray)
    case readOnly(Delivery.Source)

    /// - Returns: `nil` if sharing is not the reason.
    init?(_ facts: SharingFacts) {
        guard let share = facts.share else {
            if facts.isSeen { return nil }
            self = Self.outside(facts.chain)
            return
        }
        // Without a right, nobody is invited or takes part.
        switch facts.participant.flatMap({ $0.status == .removed || share.permission(of: $0) != .none ? $0.status : nil }) {
        case .invited?: self = .notAccepted
        case .removed?: self = .left
        case nil:
            if share.publicPermission != .none {
                self = .notJoined
            } else if let source = facts.refusedLink {
                self = .linkClosed(source)
            } else {
                self = facts.wasGuest ? .removed : .notInvited
            }
        case .accepted?:
            if let stray = facts.stray {
                self = stray.scope == .shared ? .otherOwner(stray) : .otherDatabase(stray)
            } else if !facts.isSeen {
                self = .notMovedYet
            } else if let source = facts.refusedWrite, let participant = facts.participant,
                share.permission(of: participant) != .readWrite
            {
                self = .readOnly(source)
            } else {
                return nil
            }
        }
    }

    /// The reason for a record that no guest sees.
    private static func outside(_ chain: SharingFacts.Chain?) -> SharingReason {
        guard let chain else { return .notShared }
        switch chain.end {
        case .noParent: return chain.names.count == 1 ? .noParent : .parentOutside(chain)
        case .missing(let name): return .parentMissing(name, chain)
        case .shared: return .notMovedYet
        case .circle: return .parentsInACircle(chain)
        case .tooLong: return .tooManyParents
        }
    }
}
