/// A parsed answer.
struct Answer: Sendable {
    struct Malformed: Error {
        let text: String
    }

    let status: Int
    /// By lower-case name; values of repeated headers are joined.
    let fields: [String: String]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(_ name: String) -> String? { fields[name] }

    init(head: String) throws {
        let lines = head.split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Malformed(text: head)
        }
        self.status = status
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        self.fields = Dictionary(fields, uniquingKeysWith: { $0 + ", " + $1 })
    }
}
