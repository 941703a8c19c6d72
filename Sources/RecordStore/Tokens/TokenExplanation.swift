public import Records

/// The decoded contents of a token.
public struct TokenExplanation: Sendable, Hashable {
    public enum Subject: Sendable, Hashable {
        /// The list of changed zones.
        case database
        /// The records of one zone; `nil` if the zone is no longer in the store.
        case zone(ZoneID?)
    }

    public enum Progress: Sendable, Hashable {
        /// The client has seen everything up to the position.
        case complete
        /// A page of a pull without a token.
        case firstPull
        /// A page of a pull that started at this position.
        case pull(since: Int64)
        /// A page of a pull from new to old.
        case reversePull
    }

    public enum Validity: Sendable, Hashable {
        case good
        /// The server no longer knows the changes since the token. The client must start without a token.
        case expired(why: String)
        /// The token belongs to another database, scope or zone.
        case foreign(why: String)
    }

    public var subject: Subject
    public var scope: DatabaseScope
    /// Owner of the database; `nil` for the public one.
    public var userRecordName: Name?
    public var position: Int64
    /// Commit time of the change at the position; `nil` if the token is before the first change.
    public var moment: Timestamp?
    public var progress: Progress
    public var validity: Validity
    /// Number of changes after the position; `nil` if the token is not valid.
    public var changesAfter: Int?

    public init(
        subject: Subject, scope: DatabaseScope, userRecordName: Name?, position: Int64, moment: Timestamp?,
        progress: Progress,
        validity: Validity, changesAfter: Int?
    ) {
        self.subject = subject
        self.scope = scope
        self.userRecordName = userRecordName
        self.position = position
        self.moment = moment
        self.progress = progress
        self.validity = validity
        self.changesAfter = changesAfter
    }
}

extension TokenExplanation {
    /// Explains a token's content.
    /// - Parameters:
    /// - user: the owner of the token's database.
    /// - view: scope and number of the database being asked.
    /// - feed: the state of the feed; `nil` if the zone does not exist or is not visible.
    public init(
        _ opened: TokenCodec.Opened, about subject: Subject, user: Name?, view: (scope: DatabaseScope, number: Int64),
        feed: FeedState?,
        codec: TokenCodec, changesAfter: Int
    ) {
        let content = opened.content
        let validity: Validity
        if content.scope != view.scope || content.databaseNumber != view.number {
            validity = .foreign(
                why: "it belongs to the \(content.scope.rawValue) database of \(user.map(\.string) ?? "everyone")")
        } else if let feed {
            validity = codec.reasonExpired(opened, feed).map { .expired(why: $0) } ?? .good
        } else {
            validity = .expired(why: "its zone was deleted, or is no longer shared")
        }
        let progress: Progress =
            switch content.progress {
            case .complete: .complete
            case .firstPull: .firstPull
            case .pull(let since): .pull(since: since)
            case .reversePull: .reversePull
            }
        self.init(
            subject: subject, scope: content.scope, userRecordName: user, position: content.position,
            moment: content.position == 0 ? nil : content.moment, progress: progress, validity: validity,
            changesAfter: validity == .good ? changesAfter : nil)
    }
}

// MARK: - JSON

/// The format of docs/feeds.md.
extension TokenExplanation: JSONObjectCoded {
    package static let form = JSONForm(
        TokenExplanation.init(
            subject:scope:userRecordName:position:moment:progress:validity:changesAfter:),
        JSONPart(joined: .subject, \.subject), JSONPart("database", \.scope),
        JSONPart("userRecordName", \.userRecordName), JSONPart("position", \.position),
        JSONPart("timestamp", \.moment), JSONPart(joined: .progress, \.progress),
        JSONPart(joined: .validity, \.validity), JSONPart("changesAfter", \.changesAfter))
}

extension JSONMember<TokenExplanation.Subject> {
    fileprivate static var subject: JSONMember {
        JSONMember(
            [
                MemberShape("subject", .string("database or zone")),
                MemberShape("zoneID", isRequired: false, ZoneID.shape),
            ],
            read: { object in
                try String.member("subject", of: object) == "database"
                    ? .database : .zone(try .member("zoneID", of: object))
            },
            write: { subject, writer in
                switch subject {
                case .database: writer.member("subject", "database")
                case .zone(let zoneID):
                    writer.member("subject", "zone")
                    zoneID.write(as: "zoneID", into: &writer)
                }
            })
    }
}

extension JSONMember<TokenExplanation.Progress> {
    fileprivate static var progress: JSONMember {
        let kind = JSONShape.string("complete, firstPull, pull or reversePull")
        return JSONMember(
            [MemberShape("progress", kind), MemberShape("since", isRequired: false, .integer)],
            read: { object in
                switch try String.member("progress", of: object) {
                case "complete": return .complete
                case "firstPull": return .firstPull
                case "reversePull": return .reversePull
                case "pull": return .pull(since: try .member("since", of: object))
                case let other: throw object.unexpected("progress", kind.words, .string(other))
                }
            },
            write: { progress, writer in
                switch progress {
                case .complete: writer.member("progress", "complete")
                case .firstPull: writer.member("progress", "firstPull")
                case .reversePull: writer.member("progress", "reversePull")
                case .pull(let since):
                    writer.member("progress", "pull")
                    writer.member("since", since)
                }
            })
    }
}

extension JSONMember<TokenExplanation.Validity> {
    fileprivate static var validity: JSONMember {
        let kind = JSONShape.string("good, expired or foreign")
        return JSONMember(
            [MemberShape("standing", kind), MemberShape("why", isRequired: false, String.shape)],
            read: { object in
                switch try String.member("standing", of: object) {
                case "good": return .good
                case "expired": return .expired(why: try .member("why", of: object))
                case "foreign": return .foreign(why: try .member("why", of: object))
                case let other: throw object.unexpected("standing", kind.words, .string(other))
                }
            },
            write: { validity, writer in
                switch validity {
                case .good: writer.member("standing", "good")
                case .expired(let why):
                    writer.member("standing", "expired")
                    writer.member("why", why)
                case .foreign(let why):
                    writer.member("standing", "foreign")
                    writer.member("why", why)
                }
            })
    }
}
