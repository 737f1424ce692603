/* Registers, commands and data structures: NVM Express Base Specification 1.4c, whose sections are named. Numbers
 * in memory are little-endian. */
#ifndef DRIVERS_NVME_SPEC_H
#define DRIVERS_NVME_SPEC_H

/* 3.1, controller registers. Those of 64 bits may be accessed by halves. */
#define NVME_CAP 0x00
#define NVME_CAP_TIMEOUT(low) ((low) >> 24 & 0xff)  /* in 500 ms */
#define NVME_CAP_ENTRIES(low) ((low) & 0xffff)      /* of a queue, less 1 */
#define NVME_CAP_STRIDE(high) ((high) & 15)         /* of doorbells: 4 << that */
#define NVME_CAP_NVM(high) ((high) >> 5 & 1)        /* has the NVM command set */
#define NVME_CAP_PAGE_LEAST(high) ((high) >> 16 & 15) /* 4096 << that */
#define NVME_CC 0x14
#define NVME_CC_ENABLE 1u
/* IOSQES, IOCQES: 64 and 16 bytes. A page of 4096 bytes and the NVM command set are 0. */
#define NVME_CC_ENTRIES (6u << 16 | 4u << 20)
#define NVME_CSTS 0x1c
#define NVME_CSTS_READY 1u
#define NVME_CSTS_FATAL 2u
#define NVME_AQA 0x24
#define NVME_ASQ 0x28
#define NVME_ACQ 0x30
#define NVME_DOORBELLS 0x1000

/* 4.2, a submission queue entry, and 4.6, a completion queue entry: offsets. */
#define NVME_SQE_BYTES 64
#define NVME_SQE_COMMAND 0 /* opcode, identifier << 16 */
#define NVME_SQE_NAMESPACE 4
#define NVME_SQE_PRP1 24
#define NVME_SQE_PRP2 32
#define NVME_SQE_10 40
#define NVME_SQE_11 44
#define NVME_SQE_12 48
#define NVME_CQE_BYTES 16
#define NVME_CQE_STATUS 12 /* identifier; phase; status */
#define NVME_CQE_PHASE (1u << 16)
#define NVME_CQE_ERROR(status) ((status) >> 17 & 0x7ff) /* code and its type: 0 is success */

/* 5, admin commands. */
enum nvme_admin { NVME_CREATE_SQ = 1, NVME_CREATE_CQ = 5, NVME_IDENTIFY = 6, NVME_SET_FEATURES = 9 };
#define NVME_IDENTIFY_NAMESPACE 0 /* 5.15.2: CNS */
#define NVME_IDENTIFY_CONTROLLER 1
#define NVME_IDENTIFY_ACTIVE 2
#define NVME_FEATURE_QUEUES 7     /* 5.21.1.7 */
#define NVME_CONTIGUOUS 1u        /* PC of both CREATE commands */

/* 5.15.2.2, identify controller. */
#define NVME_ID_MODEL 24
#define NVME_ID_MODEL_BYTES 40
#define NVME_ID_TRANSFER 77 /* MDTS: the longest transfer is 4096 << that bytes; 0: any */
/* 5.15.2.1, identify namespace. */
#define NVME_NS_SIZE 0
#define NVME_NS_FORMAT 26   /* FLBAS, bits 3:0 */
#define NVME_NS_ATTRIBUTES 99
#define NVME_NS_PROTECTED 1 /* against writes */
#define NVME_NS_FORMATS 128 /* LBAF0; each of 4 bytes: metadata 15:0, log2 of the bytes 23:16 */

/* 6, NVM commands. */
enum nvme_io { NVME_FLUSH = 0, NVME_WRITE = 1, NVME_READ = 2 };

#endif
