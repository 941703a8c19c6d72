internal import Accounts
internal import AssetStore
internal import Console
internal import RecordStore
internal import Records

/// A share that a link leads to, with its place.
struct Invitation: Sendable {
    /// The public database, through which links are accepted.
    let address: DatabaseAddress
    let share: ZoneShare
    let root: StoredRecord?

    /// Looks for a link in all containers of this server, because links do not name their container.
    /// - Throws: `RecordError` NOT_FOUND.
    static func find(_ shortGUID: String, _ console: Console) async throws -> Invitation {
        let engine = console.engine
        let caller = try console.accounts.caller(named: nil, deviceID: nil)
        let containers = engine.can(.listContainers) ? try await engine.containers() : []
        for container in containers where console.accounts.connections(of: container).isEmpty {
            for environment in Environment.allCases {
                do {
                    guard try await engine.has(container, environment) else { continue }
                    let address = DatabaseAddress(container: container, environment: environment, scope: .public)
                    let database = try await engine.database(address, as: caller)
                    guard database.can(.listShares), let found = try await database.shares(linkedBy: [shortGUID]).first else { continue }
                    let resolved = try found.get()
                    if let share = ZoneShare(resolved.share) { return Invitation(address: address, share: share, root: resolved.root) }
                } catch is RecordError {
                    // Most containers do not have it. The start page marks unreadable ones.
                    continue
                }
            }
        }
        throw RecordError(.notFound, "No container of this server has a share with this link")
    }

    /// Lets a user take part.
    func accept(as user: User, _ console: Console) async throws {
        let database = try await console.engine.database(address, as: Caller(userRecordName: user.userRecordName))
        for result in try await database.accept([share.share.shortGUID], by: LookupInfo(user)) { _ = try result.get() }
    }

    /// The image of the invitation; `nil` if there is none that browsers show.
    func thumbnail() throws -> (bytes: [UInt8], mediaType: String)? {
        guard case .bytes(let bytes)? = try share.record.fields.values(of: [Share.thumbnailField])[Share.thumbnailField] else { return nil }
        let type = AssetType(beginning: bytes, isWhole: true)
        // An SVG image that is opened as a page of its own may do more than show itself.
        return type.preview == .image && type.mediaType != "image/svg+xml" ? (bytes, type.mediaType) : nil
    }
}

extension LookupInfo {
    /// The addresses by which a user may have been invited.
    init(_ user: User) {
        self.init(emailAddress: user.emailAddress, userRecordName: user.userRecordName)
    }
}
