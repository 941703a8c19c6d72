package import JSON
package import Records
internal import Text
package import Traffic

/// All activity of one client as one user in a container, across databases.
package struct ClientHistory: Sendable {
    /// ``ClientIdentity/id``.
    package let id: String
    package let identity: ClientIdentity
    package let user: Name
    /// One part per database, the most recently used first.
    package let parts: [SeenClient]

    /// The anchor of the client on the page Clients. FNV-1a is enough to distinguish a few hundred clients.
    package var anchor: String {
        var hash = FNV1a()
        hash.add(text: id)
        hash.add(user.utf8)
        return "client-" + hash.text
    }
}

extension ClientBook {
    /// A client by its id, as all pages show it, also before its first request to a database.
    package func label(ofClient id: String) -> String {
        let identity = clients.first { $0.identity.clientID == id }?.identity ?? ClientIdentity(name: nil, deviceID: id, userAgent: nil)
        return identity.label
    }

    /// The device of a token for notifications: its client or, without one, the beginning of the token's hash.
    package func label(ofClient id: String?, token: String) -> String { id.map { label(ofClient: $0) } ?? "token \(token.prefix(8))" }

    /// The clients of a container, the most recently seen first. Skylight's own requests are excluded.
    package func histories(in container: ContainerID) -> [ClientHistory] {
        struct Key: Hashable {
            let id: String
            let user: Name
        }
        var order: [Key] = []
        var parts: [Key: [SeenClient]] = [:]
        for client in clients where client.address.container == container && !client.identity.isOfSkylight {
            guard let user = client.userRecordName else { continue }
            let key = Key(id: client.id.client, user: user)
            if parts[key] == nil { order.append(key) }
            parts[key, default: []].append(client)
        }
        return order.compactMap { key in
            guard let all = parts[key], let first = all.first else { return nil }
            return ClientHistory(id: key.id, identity: first.identity, user: key.user, parts: all)
        }
    }
}
