internal import Text

/// A one-page PDF document (ISO 32000) with a title and some lines of text.
struct DemoPDF: Sendable {
    let title: String
    /// Only characters that ASCII and PDF's built-in fonts share.
    let lines: [String]

    var bytes: [UInt8] {
        var content = "0.22 0.35 0.62 rg 0 742 595 100 re f\nBT /F1 34 Tf 1 1 1 rg 56 776 Td (\(title)) Tj ET\nBT /F2 13 Tf 0 0 0 rg 56 690 Td 19 TL\n"
        for line in lines { content += "(\(line)) Tj T*\n" }
        content += "ET\n"
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
            "<< /Length \(content.utf8.count) >>\nstream\n\(content)endstream", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
        var text = "%PDF-1.4\n"
        var entries = "0000000000 65535 f \n"
        for (index, object) in objects.enumerated() {
            entries += String(text.utf8.count, digits: 10) + " 00000 n \n"
            text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
        }
        let start = text.utf8.count
        text += "xref\n0 \(objects.count + 1)\n\(entries)trailer\n<< /Size \(objects.count + 1) /Root 1 0 R >>\nstartxref\n\(start)\n%%EOF\n"
        return Array(text.utf8)
    }
}
