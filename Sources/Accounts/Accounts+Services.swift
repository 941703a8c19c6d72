package import Records

/// The account services, below `/skylight/1/` (docs/services.md).
extension Accounts {
    package enum Services {
        // MARK: Users and the administrator

        package static let users = SkylightService("users", .get, answers: JSONMember<[SeenUser]>("users"))
        /// Creates a user with a name and, if given, an e-mail address.
        package static let makeUser = SkylightService(
            "accounts/users/make", .change,
            takes: JSONMember<String>("displayName"), JSONMember<String?>("emailAddress"),
            answers: JSONMember<User>("user"))
        /// Removes a user, by handle or user record name, and ends the user's sessions. The user's data in containers
        /// stays under the user record name.
        package static let removeUser = SkylightService(
            "accounts/users/remove", .change,
            takes: JSONMember<String>("user"), answers: JSONMember<User>("user"), JSONMember<Int>("endedSessions"))
        package static let administrator = SkylightService(
            "accounts/administrator", .get, answers: JSONMember<Bool>("hasPassword"))
        /// Sets the administrator password. All console sessions end.
        package static let setAdministratorPassword = SkylightService(
            "accounts/administrator/password", .change,
            takes: JSONMember<String>("password"), JSONMember<String?>("presentPassword"),
            answers: JSONMember<Bool>("hasPassword"))

        // MARK: Credentials

        package static let apiTokens = SkylightService(
            "accounts/tokens", .get, answers: JSONMember<[APIToken]>("tokens"))
        /// Only this answer contains the secret.
        package static let makeAPIToken = SkylightService(
            "accounts/tokens/make", .change,
            takes: .container, .environment, JSONMember<String>("name", default: ""),
            JSONMember<[String]>("allowedOrigins", default: []), JSONMember<String?>("callback"),
            answers: JSONMember<APIToken>("token"), JSONMember<String>("secret"))
        package static let revokeAPIToken = SkylightService(
            "accounts/tokens/revoke", .change, takes: JSONMember<String>("id"), answers: JSONMember<APIToken>("token"))

        package static let serverKeys = SkylightService("accounts/keys", .get, answers: JSONMember<[ServerKey]>("keys"))
        package static let registerServerKey = SkylightService(
            "accounts/keys/register", .change,
            takes: .container, .environment, JSONMember<String>("publicKey"), JSONMember<String>("name", default: ""),
            answers: JSONMember<ServerKey>("key"))
        package static let revokeServerKey = SkylightService(
            "accounts/keys/revoke", .change, takes: JSONMember<String>("keyID"), answers: JSONMember<ServerKey>("key"))

        package static let sessions = SkylightService(
            "accounts/sessions", .get, answers: JSONMember<[WebAuthSession]>("sessions"))
        /// Signs a user in without the sign-in page, for tests.
        package static let makeSession = SkylightService(
            "accounts/sessions/make", .change,
            takes: .container, .environment, JSONMember<String>("user"), JSONMember<String?>("apiTokenID"),
            JSONMember<Bool>("keepSignedIn", default: false),
            answers: JSONMember<WebAuthSession>("session"), JSONMember<String>("webAuthToken"))
        package static let revokeSession = SkylightService(
            "accounts/sessions/revoke", .change, takes: JSONMember<String>("id"),
            answers: JSONMember<WebAuthSession>("session"))

        // MARK: Connections

        package static let connections = SkylightService(
            "accounts/connections", .get, answers: JSONMember<[ContainerConnection]>("connections"))
        package static let makeConnection = SkylightService(
            "accounts/connections/make", .change,
            takes: .connectionWithSecrets, answers: JSONMember<ContainerConnection>("connection"))
        package static let removeConnection = SkylightService(
            "accounts/connections/remove", .change,
            takes: .container, .environment, answers: JSONMember<ContainerConnection>("connection"))
    }
}

// The container and environment that a credential is valid for.

extension JSONMember<ContainerID> {
    fileprivate static var container: JSONMember { JSONMember("container") }
}

extension JSONMember<Records.Environment> {
    fileprivate static var environment: JSONMember { JSONMember("environment", default: .development) }
}

// MARK: - Credentials, without their secrets

extension APIToken: JSONObjectCoded {
    package static let form = JSONForm(
        APIToken.init(
            id:name:container:environment:allowedOrigins:callback:made:lastUsed:revoked:),
        JSONPart("id", \.id), JSONPart("name", \.name), JSONPart("container", \.container),
        JSONPart("environment", \.environment),
        JSONPart("allowedOrigins", \.allowedOrigins), JSONPart("callback", \.callback), JSONPart("made", \.made),
        JSONPart("lastUsed", \.lastUsed), JSONPart("revoked", \.revoked))
}

extension ServerKey: JSONObjectCoded {
    package static let form = JSONForm(
        ServerKey.init(keyID:name:container:environment:publicKeyPEM:userRecordName:made:lastUsed:revoked:),
        JSONPart("keyID", \.keyID), JSONPart("name", \.name), JSONPart("container", \.container),
        JSONPart("environment", \.environment), JSONPart("publicKey", \.publicKeyPEM),
        JSONPart("userRecordName", \.userRecordName), JSONPart("made", \.made), JSONPart("lastUsed", \.lastUsed),
        JSONPart("revoked", \.revoked))
}

extension WebAuthSession: JSONObjectCoded {
    package static let form = JSONForm<WebAuthSession>(
        { id, user, container, environment, apiTokenID, keepsSignedIn, _, made, lastUsed, revoked in
            WebAuthSession(
                id: id, user: user, container: container, environment: environment, apiTokenID: apiTokenID,
                keepsSignedIn: keepsSignedIn, made: made, lastUsed: lastUsed, revoked: revoked)
        },
        JSONPart("id", \.id), JSONPart("userRecordName", \.user), JSONPart("container", \.container),
        JSONPart("environment", \.environment), JSONPart("apiTokenID", \.apiTokenID),
        JSONPart("keepsSignedIn", \.keepsSignedIn),
        JSONPart("expires", \.expires), JSONPart("made", \.made), JSONPart("lastUsed", \.lastUsed),
        JSONPart("revoked", \.revoked))
}

extension ContainerConnection: JSONObjectCoded {
    package static let form = JSONForm<ContainerConnection>(
        { container, environment, address, origin, keyID, userRecordName, isWritable, made in
            ContainerConnection(
                container: container, environment: environment, address: address, origin: origin,
                credentials: keyID.map { .serverKey(keyID: $0, pem: "") } ?? .webAuth(apiToken: "", webAuthToken: ""),
                userRecordName: userRecordName, isWritable: isWritable, made: made)
        },
        JSONPart("container", \.container), JSONPart("environment", \.environment), JSONPart("address", \.address),
        JSONPart("origin", \.origin), JSONPart("keyID", \.credentials.keyID),
        JSONPart("userRecordName", \.userRecordName),
        JSONPart("writable", \.isWritable), JSONPart("made", \.made))
}

extension JSONMember<ContainerConnection> {
    fileprivate static var connectionWithSecrets: JSONMember {
        let form = JSONForm<ContainerConnection>(
            { container, environment, credentials, address, origin, userRecordName, isWritable in
                ContainerConnection(
                    container: container, environment: environment, address: address, origin: origin,
                    credentials: credentials, userRecordName: userRecordName, isWritable: isWritable)
            },
            JSONPart(joined: .container, \.container), JSONPart(joined: .environment, \.environment),
            JSONPart(joined: .secrets, \.credentials),
            JSONPart("address", \.address), JSONPart("origin", \.origin), JSONPart("userRecordName", \.userRecordName),
            JSONPart(joined: JSONMember<Bool>("writable", default: false), \.isWritable))
        return JSONMember(form.shapes, read: form.read, write: form.write)
    }
}

extension JSONMember<ContainerConnection.Credentials> {
    /// A key with its private part, or two tokens.
    fileprivate static var secrets: JSONMember {

        return JSONMember(
            ["keyID", "privateKey", "apiToken", "webAuthToken"].map {
                MemberShape($0, isRequired: false, String.shape)
            },
            read: { object in
                guard let keyID = try object.string("keyID") else {
                    return .webAuth(
                        apiToken: try String.member("apiToken", of: object),
                        webAuthToken: try String.member("webAuthToken", of: object))
                }
                return .serverKey(keyID: keyID, pem: try String.member("privateKey", of: object))
            },
            write: { credentials, writer in
                switch credentials {
                case .serverKey(let keyID, let pem):
                    writer.member("keyID", keyID)
                    writer.member("privateKey", pem)
                case .webAuth(let token, let session):
                    writer.member("apiToken", token)
                    writer.member("webAuthToken", session)
                }
            })
    }
}

// MARK: - Users

/// A user, with the time of the user's latest request if it is known.
package struct SeenUser: Sendable {
    package let user: User
    package let lastSeen: Timestamp?

    package init(_ user: User, lastSeen: Timestamp?) {
        (self.user, self.lastSeen) = (user, lastSeen)
    }
}

extension SeenUser: JSONObjectCoded {
    package static let form = JSONForm<SeenUser>(
        { handle, userRecordName, displayName, emailAddress, made, lastSeen, maker in
            SeenUser(
                User(
                    handle: handle, userRecordName: userRecordName, displayName: displayName,
                    emailAddress: emailAddress, made: made, maker: maker), lastSeen: lastSeen)
        },
        JSONPart("handle", \.user.handle), JSONPart("userRecordName", \.user.userRecordName),
        JSONPart("displayName", \.user.displayName), JSONPart("emailAddress", \.user.emailAddress),
        JSONPart("made", \.user.made), JSONPart("lastSeen", \.lastSeen), JSONPart(joined: .maker, \.user.maker))
}

extension User: JSONObjectCoded {
    package static let form = JSONForm<User>(
        shapes: SeenUser.form.shapes, read: { try SeenUser.form.read($0).user },
        write: { SeenUser.form.write(SeenUser($0, lastSeen: nil), &$1) })
}

extension JSONMember<User.Maker> {
    fileprivate static var maker: JSONMember {
        JSONMember(
            [
                MemberShape("maker", .string("server, stranger or apiToken")),
                MemberShape("apiTokenID", isRequired: false, String.shape),
            ],
            read: { object in
                switch try String.member("maker", of: object) {
                case "server": return .server
                case "stranger": return .stranger
                case "apiToken": return .apiToken(try String.member("apiTokenID", of: object))
                case let other:
                    throw RecordError.unexpectedInput(
                        "Expected '\(object.place(of: "maker"))' to be server, stranger or apiToken, found '\(other)'")
                }
            },
            write: { maker, writer in
                switch maker {
                case .server: writer.member("maker", "server")
                case .stranger: writer.member("maker", "stranger")
                case .apiToken(let id):
                    writer.member("maker", "apiToken")
                    writer.member("apiTokenID", id)
                }
            })
    }
}
