//! Files that programs name in place of a text: workbooks and archives, known by their first bytes.

use brunt_cause::{Complaint, complaint};

/// The beginning of a ZIP archive (APPNOTE 4.3.7), in which Excel and LibreOffice keep workbooks.
const ZIP: &[u8] = b"PK\x03\x04";
/// The beginning of a compound file (MS-CFB 2.2), in which Excel kept workbooks until 2007.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The beginning of a compressed file (RFC 1952 2.3.1).
const GZIP: &[u8] = b"\x1f\x8b\x08";
/// Names that are among the first in workbooks of Excel and LibreOffice, and in no other archive.
const OF_WORKBOOKS: [&[u8]; 3] = [b"[Content_Types].xml", b"xl/", b"opendocument.spreadsheet"];

/// Refuses a file that begins as no text does.
///
/// # Errors
/// The file is a workbook, an archive or compressed; the error says how to make a text of it.
pub fn refuse(path: &str, start: &[u8]) -> Result<(), Complaint> {
    let start = &start[..start.len().min(4 << 10)];
    let is_in = |name: &&[u8]| memchr::memmem::find(start, name).is_some();
    if start.starts_with(COMPOUND) || start.starts_with(ZIP) && OF_WORKBOOKS.iter().any(is_in) {
        return Err(complaint!(
            "{path} is a workbook of Excel or another spreadsheet; save it as CSV, and name that file",
            "{path} 是 Excel 等电子表格的工作簿；请另存为 CSV，并写该文件的名称"
        ));
    }
    if start.starts_with(ZIP) || start.starts_with(GZIP) {
        return Err(complaint!(
            "{path} is compressed; unpack it, and name the file with the text",
            "{path} 是压缩文件；请先解压，并写其中文本文件的名称"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workbooks_and_archives_are_told_from_texts() {
        let said = |start: &[u8]| refuse("f", start).map_err(|trouble| trouble.to_string());
        let workbook =
            Err("f is a workbook of Excel or another spreadsheet; save it as CSV, and name that file".into());
        let archive = Err("f is compressed; unpack it, and name the file with the text".into());
        for start in [
            &b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0[Content_Types].xml"[..],
            b"PK\x03\x04\x14\0\0\x08\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",
        ] {
            assert_eq!(said(start), workbook, "{start:x?}");
        }
        for start in [&b"PK\x03\x04\x14\0\0\0users.csv"[..], b"\x1f\x8b\x08\0"] {
            assert_eq!(said(start), archive, "{start:x?}");
        }
        for text in [&b"PK,name\n1,a\n"[..], b"", b"PK\x03", b"xl/,b\n"] {
            assert_eq!(said(text), Ok(()), "{text:x?}");
        }
    }
}
