import Records

/// A parsed answer.
struct RawResponse: Sendable {
    struct Malformed: Error {
        let text: String
    }

    let status: Int
    /// By lower-case name. The last of repeated headers counts.
    let headers: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONValue { try JSONReader.value(of: body) }

    /// The answers on a connection, in order.
    static func parse(_ bytes: [UInt8]) throws -> [RawResponse] {
        var rest = bytes[...]
        var responses: [RawResponse] = []
        while !rest.isEmpty {
            guard let headEnd = rest.indices.first(where: { rest[$0...].starts(with: Array("\r\n\r\n".utf8)) }) else {
                throw Malformed(text: String(decoding: rest, as: UTF8.self))
            }
            let lines = String(decoding: rest[..<headEnd], as: UTF8.self).split(separator: "\r\n")
            guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
                throw Malformed(text: lines.first.map(String.init) ?? "")
            }
            let headers = lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
            }
            let fields = Dictionary(headers, uniquingKeysWith: { _, last in last })
            rest = rest[(headEnd + 4)...]
            let body: [UInt8]
            if fields["transfer-encoding"] == "chunked" {
                body = try dechunk(&rest)
            } else {
                let length = fields["content-length"].flatMap { Int($0) } ?? 0
                body = Array(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            responses.append(RawResponse(status: status, headers: fields, body: body))
        }
        return responses
    }

    private static func dechunk(_ rest: inout ArraySlice<UInt8>) throws -> [UInt8] {
        var body: [UInt8] = []
        while let lineEnd = rest.indices.first(where: { rest[$0...].starts(with: [13, 10]) }) {
            guard let size = Int(String(decoding: rest[..<lineEnd], as: UTF8.self), radix: 16) else { break }
            rest = rest[(lineEnd + 2)...]
            body += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            if size == 0 { return body }
        }
        throw Malformed(text: "chunks")
    }
}
