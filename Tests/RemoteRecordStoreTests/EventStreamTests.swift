import Records
import Testing

@testable import RemoteRecordStore

/// Event streams are read whatever their parts are.
@Suite struct EventStreamTests {
    private static let text =
        "id: 7\nevent: following\ndata: {}\n\n: still here\n\nid: 9\nevent: notification\ndata: {\"aps\":{\"alert\":\"é: x\"}}\n\n"
    private static let events = [
        EventStreamParser.Event(id: "7", name: "following", data: Array("{}".utf8)),
        EventStreamParser.Event(id: "9", name: "notification", data: Array("{\"aps\":{\"alert\":\"é: x\"}}".utf8)),
    ]

    @Test(arguments: [1, 2, 3, 7, 1000]) func partsOfAnySize(size: Int) throws {
        var parser = EventStreamParser()
        let bytes = Array(Self.text.utf8)
        var events: [EventStreamParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try parser.events(after: bytes[start..<min(start + size, bytes.count)])
        }
        #expect(events == Self.events)
    }

    @Test func anEndlessEventIsRefused() throws {
        var parser = EventStreamParser()
        let part = [UInt8](repeating: UInt8(ascii: "x"), count: EventStreamParser.limit)
        #expect(try parser.events(after: part).isEmpty)
        #expect(throws: RecordError.self) { try parser.events(after: part.prefix(1)) }
    }
}
