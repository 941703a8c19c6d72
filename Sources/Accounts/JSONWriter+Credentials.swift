public import JSON
public import Records

// Writes credentials without their secrets.
extension JSONWriter {
    public mutating func value(_ token: APIToken) {
        object { writer in
            writer.member("id", token.id)
            writer.member("name", token.name)
            writer.member("container", token.container.description)
            writer.member("environment", token.environment.rawValue)
            writer.name("allowedOrigins")
            writer.array { writer in
                for origin in token.allowedOrigins { writer.value(origin) }
            }
            if let callback = token.callback { writer.member("callback", callback) }
            writer.moments(made: token.made, lastUsed: token.lastUsed, revoked: token.revoked)
        }
    }

    public mutating func value(_ key: ServerKey) {
        object { writer in
            writer.member("keyID", key.keyID)
            writer.member("name", key.name)
            writer.member("container", key.container.description)
            writer.member("environment", key.environment.rawValue)
            writer.member("publicKey", key.publicKeyPEM)
            writer.member("userRecordName", key.userRecordName)
            writer.moments(made: key.made, lastUsed: key.lastUsed, revoked: key.revoked)
        }
    }

    public mutating func value(_ session: WebAuthSession) {
        object { writer in
            writer.member("id", session.id)
            writer.member("userRecordName", session.user)
            writer.member("container", session.container.description)
            writer.member("environment", session.environment.rawValue)
            if let token = session.apiTokenID { writer.member("apiTokenID", token) }
            writer.member("keepsSignedIn", session.keepsSignedIn)
            writer.member("expires", session.expires.milliseconds)
            writer.moments(made: session.made, lastUsed: session.lastUsed, revoked: session.revoked)
        }
    }

    public mutating func value(_ connection: ContainerConnection) {
        object { writer in
            writer.member("container", connection.container.description)
            writer.member("environment", connection.environment.rawValue)
            if let address = connection.address { writer.member("address", address) }
            if let origin = connection.origin { writer.member("origin", origin) }
            if case .serverKey(let keyID, _) = connection.credentials { writer.member("keyID", keyID) }
            if let user = connection.userRecordName { writer.member("userRecordName", user) }
            writer.member("writable", connection.isWritable)
            writer.moments(made: connection.made, lastUsed: nil, revoked: nil)
        }
    }

    /// - Parameter lastSeen: time of the user's latest request, if known.
    public mutating func value(_ user: User, lastSeen: Timestamp? = nil) {
        object { writer in
            writer.member("handle", user.handle)
            writer.member("userRecordName", user.userRecordName)
            writer.member("displayName", user.displayName)
            if let emailAddress = user.emailAddress { writer.member("emailAddress", emailAddress) }
            if let made = user.made { writer.member("made", made.milliseconds) }
            if let lastSeen { writer.member("lastSeen", lastSeen.milliseconds) }
            switch user.maker {
            case .server: writer.member("maker", "server")
            case .stranger: writer.member("maker", "stranger")
            case .apiToken(let id):
                writer.member("maker", "apiToken")
                writer.member("apiTokenID", id)
            }
        }
    }

    private mutating func moments(made: Timestamp, lastUsed: Timestamp?, revoked: Timestamp?) {
        member("made", made.milliseconds)
        if let lastUsed { member("lastUsed", lastUsed.milliseconds) }
        if let revoked { member("revoked", revoked.milliseconds) }
    }
}
