import AssetStore
import RecordStore
import Records
import Testing
@testable import skylight

/// Progress that a server tells, which may be in any numbers.
@Suite struct ProgressTests {
    @Test(arguments: [.min, -1, 0, 1, .max] as [Int64], [.min, 0, .max] as [Int64])
    func anyNumbersAreShown(bytes: Int64, count: Int64) {
        let bar = ProgressBar()
        var findings = AssetVerification()
        (findings.bytesDone, findings.bytesTotal, findings.filesDone, findings.filesTotal) = (
            bytes, count, Int(count), Int(bytes)
        )
        bar.show(findings)
        let build = IndexBuildProgress(
            .building, of: .field(.custom("title"), .queryable), in: "Note", done: Int(bytes), total: Int(count))
        bar.show([build, build], of: Int(count))
        var sweep = AssetSweep()
        sweep.removed = [
            AssetSweep.File(checksum: nil, name: "a", bytes: bytes),
            AssetSweep.File(checksum: nil, name: "b", bytes: bytes),
        ]
        #expect(sweep.removedBytes == bytes.addingSaturated(bytes))
    }
}
