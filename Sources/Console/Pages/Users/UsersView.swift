internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// The page Users: who there is, through whose eyes to look, and a form for one more.
struct UsersView: Page {
    static let template = "users"
    static let tab = Tab.users

    struct Row: ViewModel {
        let name: String
        let handle: String
        let userRecordName: String
        let isActor: Bool
        let privateZones: String
        let sharedZones: String
        /// This page as that user.
        let actAs: String
        let privateHref: String
        let sharedHref: String
    }

    let title = "Users"
    let rows: [Row]
    let action: String
    let notice: String?
    let handleLimit: String
    let container: String
    let milliseconds: String

    /// Users whose zones are counted.
    private static let limit = 200

    static func load(_ visit: Visit) async throws -> UsersView {
        var rows: [Row] = []
        for user in visit.people.users.prefix(limit) { rows.append(try await Row(user, visit: visit)) }
        return UsersView(
            rows: rows, action: visit.place.link("users/add"), notice: Notice.text(visit.fields["notice"]),
            handleLimit: String(Accounts.handleLimit), container: visit.place.address.container.description,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    static func add(_ visit: Visit) async throws -> String {
        guard let handle = visit.fields["handle"]?.trimmedSpaces, !handle.isEmpty else {
            throw RecordError(.badRequest, "A user needs a handle, such as anna")
        }
        _ = try visit.accounts.caller(named: handle, deviceID: nil)
        return visit.place.link("users", [Notice.userAdded.parameter])
    }
}

extension UsersView.Row {
    fileprivate init(_ user: User, visit: Visit) async throws {
        @Sendable func place(_ scope: DatabaseScope) -> Place {
            visit.place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
                $0.address.scope = scope
            }
        }
        func zones(_ scope: DatabaseScope) async throws -> String {
            let count = try await visit.measure {
                let database = try await visit.engine.database(place(scope).address, as: Caller(userRecordName: user.userRecordName))
                return try await database.zones().count { !$0.zoneID.isDefault }
            }
            return Digits.grouped(count)
        }
        name = user.displayName
        handle = user.handle
        userRecordName = user.userRecordName.string
        isActor = user == visit.people.actor
        privateZones = try await zones(.private)
        sharedZones = try await zones(.shared)
        actAs = place(visit.place.address.scope).link("users")
        privateHref = place(.private).link("zones")
        sharedHref = place(.shared).link("zones")
    }
}
