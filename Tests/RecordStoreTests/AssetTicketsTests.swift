import Records
import Testing

@testable import RecordStore

@Suite struct AssetTicketsTests {
    private let tickets = AssetTickets(key: Array(repeating: 7, count: 32))
    private let slot = SlotDigest(zone: 3, recordType: "Item", recordName: "r", fieldName: "file", user: "_ada")
    private let expires = Timestamp(milliseconds: 1_800_000_000_123)

    private var upload: UploadTicket { UploadTicket(number: Array(0..<16), expires: expires, slot: slot) }

    private func receipt() throws -> AssetReceipt {
        AssetReceipt(
            for: upload, of: try #require(FileChecksum(bytes: Array(100..<132))), size: 1 << 40, expires: expires)
    }

    @Test func whatIsSealedOpens() throws {
        #expect(tickets.openUpload(tickets.seal(upload)) == upload)
        let receipt = try receipt()
        #expect(tickets.openReceipt(tickets.seal(receipt)) == receipt)
        let download = DownloadTicket(checksum: receipt.checksum, size: 0, expires: expires)
        #expect(tickets.openDownload(tickets.seal(download, name: "a.txt"), name: "a.txt") == download)
    }

    /// Flips each bit of every ticket, cuts it, extends it, and opens it as another kind or with another key.
    @Test func whatWasAlteredDoesNot() throws {
        let receipt = try receipt()
        let sealed = [
            tickets.seal(upload), tickets.seal(receipt),
            tickets.seal(DownloadTicket(checksum: receipt.checksum, size: 5, expires: expires), name: "n"),
        ]
        func opens(_ text: String, _ tickets: AssetTickets) -> Int {
            [
                tickets.openUpload(text) != nil, tickets.openReceipt(text) != nil,
                tickets.openDownload(text, name: "n") != nil,
            ].count { $0 }
        }
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        for text in sealed {
            #expect(opens(text, tickets) == 1)
            #expect(opens(text, AssetTickets(key: Array(repeating: 8, count: 32))) == 0)
            for index in text.indices.dropLast() {
                let digit = try #require(digits.firstIndex(of: text[index]))
                for bit in 0..<6 {
                    var altered = text
                    altered.replaceSubrange(index...index, with: String(digits[digit ^ (1 << bit)]))
                    #expect(opens(altered, tickets) == 0)
                }
            }
            for altered in [String(text.dropLast()), text + "A", text + "=", "", "é", text.uppercased(), " " + text]
            where altered != text {
                #expect(opens(altered, tickets) == 0)
            }
        }
    }

    @Test func aDownloadIsGoodWithItsNameOnly() throws {
        let ticket = DownloadTicket(checksum: try receipt().checksum, size: 5, expires: expires)
        #expect(tickets.openDownload(tickets.seal(ticket, name: "a"), name: "b") == nil)
        // File names are compared as bytes, but Swift considers these two equal.
        #expect(tickets.openDownload(tickets.seal(ticket, name: "é"), name: "e\u{301}") == nil)
    }

    @Test func marksTellSlotsApart() {
        let others = [
            SlotDigest(zone: 4, recordType: "Item", recordName: "r", fieldName: "file", user: "_ada"),
            SlotDigest(zone: 3, recordType: "Ite", recordName: "mr", fieldName: "file", user: "_ada"),
            SlotDigest(zone: 3, recordType: "Item", recordName: "r", fieldName: "fil", user: "e_ada"),
            SlotDigest(zone: 3, user: "_ada"), SlotDigest(zone: 3, user: "_grace"),
            SlotDigest(anyZoneOf: .private, recordType: "Item", recordName: "r", fieldName: "file", user: "_ada"),
            SlotDigest(anyZoneOf: .public, recordType: "Item", recordName: "r", fieldName: "file", user: "_ada"),
        ]
        #expect(Set(others + [slot]).count == 8)
    }

    @Test func downloadsLastAnHourAndTheirURLsStay() {
        let start = AssetTickets.downloadExpiry(Timestamp(milliseconds: 0)).milliseconds
        #expect(start == 75 * 60 * 1000)
        #expect(AssetTickets.downloadExpiry(Timestamp(milliseconds: 15 * 60 * 1000 - 1)).milliseconds == start)
        #expect(
            AssetTickets.downloadExpiry(Timestamp(milliseconds: 15 * 60 * 1000)).milliseconds == start + 15 * 60 * 1000)
    }
}
