internal import HTTPTypes
public import Hummingbird
internal import NIOHTTP1

/// The requests that a server passes on to the host for which it stands in, instead of answering them itself.
///
/// Their answers reach the client as they are, without what the guards add to the server's own.
public struct PassingOn: Sendable {
    let covers: @Sendable (Request) -> Bool
    let answer: Routes.Handler

    /// - Parameters:
    ///   - covers: returns whether a request for a host of others is passed on.
    ///   - answer: passes it on. It marks answers of the other server with ``Hummingbird/Response/passedOn()``; all others
    ///     are the server's own.
    public init(covers: @escaping @Sendable (Request) -> Bool, answer: @escaping Routes.Handler) {
        (self.covers, self.answer) = (covers, answer)
    }
}

extension Response {
    /// The same answer, marked as one of another server. The mark has that server's date, because Hummingbird sets its
    /// own, and never leaves this server.
    public func passedOn() -> Response {
        var response = self
        response.headers[.skylightPassedOn] = headers[.date] ?? ""
        return response
    }

    /// True for the answer of another server.
    public var isPassedOn: Bool { headers.contains(.skylightPassedOn) }
}

extension HTTPField.Name {
    fileprivate static let skylightPassedOn = constant("X-Skylight-Passed-On")
}

extension HTTPHeaders {
    /// Removes the mark from an answer of another server, and gives it the date of that server.
    mutating func removeMark() {
        guard let date = first(name: HTTPField.Name.skylightPassedOn.canonicalName) else { return }
        remove(name: HTTPField.Name.skylightPassedOn.canonicalName)
        remove(name: HTTPField.Name.date.canonicalName)
        if !date.isEmpty { add(name: HTTPField.Name.date.rawName, value: date) }
    }
}
