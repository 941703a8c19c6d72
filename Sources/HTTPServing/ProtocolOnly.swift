internal import HTTPTypes
internal import Hummingbird
internal import Records

/// Leaves nothing but CloudKit's protocol on a server, which then stands in for iCloud in tests of clients.
///
/// Only CloudKit's services, its web courier, the files of assets, and the page where users sign in are there. Every other path is not found.
/// Answers have no members and headers that CloudKit does not have, and headers of Skylight's own have no effect.
enum ProtocolOnly {
    /// First parts of paths. The sign-in page has a style sheet and scripts.
    private static let roots: Set<Substring> = ["database", "device", "aps", "assets", "sign-in", "static"]
    private static let prefix = "x-skylight-"

    static func answer(_ sent: Request, _ context: ServingRequestContext, _ handler: Routes.Handler) async throws -> Response {
        guard let root = (sent.pathParts ?? sent.rawPathParts).first, roots.contains(root) else { return Response(status: .notFound) }
        var head = sent.head
        // Fault injection stays, for a proxy between the client and this server to ask for.
        for field in head.headerFields where isOwn(field.name) && field.name != .skylightRehearse { head.headerFields[field.name] = nil }
        let request = Request(head: head, body: sent.body)
        return try await Asset.$showsFileName.withValue(false) { try await handler(request, context) }
    }

    static func removeOwn(from headers: inout HTTPFields) {
        for field in headers where isOwn(field.name) { headers[field.name] = nil }
        guard let exposed = headers[.accessControlExposeHeaders] else { return }
        let kept = exposed.split(separator: ", ").filter { !$0.lowercased().hasPrefix(prefix) && $0 != HTTPField.Name.serverTiming.rawName }
        headers[.accessControlExposeHeaders] = kept.joined(separator: ", ")
    }

    private static func isOwn(_ name: HTTPField.Name) -> Bool { name.canonicalName.hasPrefix(prefix) }
}
