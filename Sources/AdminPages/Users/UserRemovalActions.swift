internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Removes a user, after a confirmation that lists the effects.
enum UserRemovalActions {
    private static let field = "name"

    /// - Throws: `RecordError` NOT_FOUND if the user does not exist, BAD_REQUEST if the user can't be removed.
    static func confirm(_ visit: Visit) throws -> ConfirmationView {
        let user = try user(visit)
        try visit.accounts.checkRemovable(user)
        let now = Timestamp.now()
        let sessions = visit.accounts.webAuthSessions().count { $0.user == user.userRecordName && $0.isLive(at: now) }
        return ConfirmationView(
            on: .users, title: "Delete the user ‘\(user.displayName)’?",
            lines: [
                "This deletes the name, the e-mail address and the user's sign-in sessions: "
                    + (sessions == 0 ? "there are none." : "\(Digits.grouped(sessions)) \(sessions == 1 ? "ends" : "end") at once."),
                "The user's data and the zones that others share with the user stay under \(user.userRecordName). "
                    + "To delete the data too, purge the user's zones first.",
                "Nobody can sign in with this name again. To restore the user with all data, create ‘\(user.handle)’ on the page Users, "
                    + "or send a request that names the user.",
            ], action: visit.place.link("users/remove"), fields: [Frame.Hidden(name: field, value: user.handle)], button: "Delete the user",
            cancel: visit.place.link("users/user", [(field, user.handle)]))
    }

    /// - Returns: the page Users, as the developer if the acting user was removed.
    static func remove(_ visit: Visit) async throws -> String {
        let user = try user(visit)
        _ = try await visit.accounts.removeUser(user.userRecordName)
        let place = user == visit.people.actor ? visit.place.with { ($0.user, $0.zone) = (nil, .unspecified) } : visit.place
        return place.link("users", [Notice.userRemoved.parameter])
    }

    private static func user(_ visit: Visit) throws -> User {
        let name = visit.fields[field] ?? ""
        guard let user = visit.people.user(named: name) else {
            throw RecordError(.notFound, "There is no user '\(name.prefix(80))'")
        }
        return user
    }
}
